// MXFP4: E2M1 codes with an E8M0 scale for every 32 columns.
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/scalar/gemm.inc"

#include "kernels/cpu/scalar/e2m1.inc"
}  // namespace

void gemm_mxfp4(const GemmArgs* a) noexcept { gemm<E2m1Row<32, e8m0_value>>(*a); }

}  // namespace conclave::scalar
