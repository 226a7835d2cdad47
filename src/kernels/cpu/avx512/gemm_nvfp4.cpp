// NVFP4: E2M1 codes with an E4M3 scale for every 16 columns.
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

#include "kernels/cpu/avx512/e2m1.inc"
#include "kernels/cpu/vector/row_nvfp4.inc"
}  // namespace

void gemm_nvfp4(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::avx512
