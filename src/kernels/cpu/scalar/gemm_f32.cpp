// Weights stored as float32.
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
  void decode(int64_t k, int64_t n, float* out) { memcpy(out, codes + k * 4, static_cast<size_t>(n) * 4); }
};

}  // namespace

void gemm_f32(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::scalar
