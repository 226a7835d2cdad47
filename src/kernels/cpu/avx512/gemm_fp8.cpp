// Weights stored as E4M3 with float32 scales over blocks of any size.
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

#include "kernels/cpu/avx512/e4m3.inc"
#include "kernels/cpu/blocks.inc"
#include "kernels/cpu/vector/row_fp8.inc"
}  // namespace

void gemm_fp8(const GemmArgs* a) noexcept { gemm_by_blocks(*a); }

}  // namespace conclave::avx512
