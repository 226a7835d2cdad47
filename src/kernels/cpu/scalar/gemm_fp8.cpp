// Weights stored as E4M3 with float32 scales over blocks of any size.
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/scalar/gemm.inc"

#include "kernels/cpu/blocks.inc"

constexpr ByteTable kE4m3{e4m3_value};

struct Row {
  const uint8_t* codes;
  const uint8_t* scales;
  BlockWalk blocks;

  void bind(const KernelMatrix& m, int64_t row) {
    codes = m.codes + row * m.code_stride;
    scales = m.scales + row / m.scale_rows * m.scale_stride;
    blocks = BlockWalk::over(m.scale_cols);
  }
  void decode(int64_t k, int64_t n, float* out) {
    blocks.enter(k);
    blocks.spread(scales, k, n, out);
    for (int64_t i = 0; i < n; ++i) out[i] *= kE4m3.value[codes[k + i]];
  }
};

}  // namespace

void gemm_fp8(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::scalar
