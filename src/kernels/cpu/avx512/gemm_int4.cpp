// Unsigned 4-bit integers with a float32 scale and zero point per block of any even number of columns.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::avx512 {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/avx512/vec.inc"
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/vector/gemm.inc"

#include "kernels/cpu/avx512/int4.inc"
#include "kernels/cpu/blocks.inc"
#include "kernels/cpu/vector/row_int4.inc"
}  // namespace

void gemm_int4(const GemmArgs* a) noexcept { gemm_by_blocks(*a); }

}  // namespace conclave::avx512
