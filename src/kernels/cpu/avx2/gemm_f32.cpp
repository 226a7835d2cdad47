// Weights stored as float32.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::avx2 {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/avx2/vec.inc"
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/vector/gemm.inc"

#include "kernels/cpu/vector/row_f32.inc"
}  // namespace

void gemm_f32(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::avx2
