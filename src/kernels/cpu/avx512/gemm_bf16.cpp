// Weights stored as bfloat16.
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

#include "kernels/cpu/vector/row_bf16.inc"
}  // namespace

void gemm_bf16(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::avx512
