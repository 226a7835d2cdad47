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

struct Row {
  const uint8_t* codes;
  const uint8_t* scales;

  void bind(const KernelMatrix& m, int64_t row) {
    codes = m.codes + row * m.code_stride;
    scales = m.scales + row / m.scale_rows * m.scale_stride;
  }
  void decode(int64_t k, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) out[i] = e2m1_at(codes, k + i) * e8m0_value(scales[(k + i) / 32]);
  }
};

}  // namespace

void gemm_mxfp4(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::scalar
