// Weights stored as bfloat16.
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/scalar/gemm.inc"

struct Row {
  const uint8_t* codes;
  void bind(const KernelMatrix& m, int64_t row) { codes = m.codes + row * m.code_stride; }
  void decode(int64_t k, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) {
      uint16_t bits;
      memcpy(&bits, codes + (k + i) * 2, 2);
      out[i] = bf16_value(bits);
    }
  }
};

}  // namespace

void gemm_bf16(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::scalar
