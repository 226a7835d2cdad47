// Unsigned 4-bit integers with a float32 scale and zero point per block of any even number of columns.
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/scalar/gemm.inc"

#include "kernels/cpu/blocks.inc"

struct Row {
  const uint8_t* codes;
  const uint8_t* scales;
  const uint8_t* zeros;
  BlockWalk blocks;

  void bind(const KernelMatrix& m, int64_t row) {
    codes = m.codes + row * m.code_stride;
    scales = m.scales + row / m.scale_rows * m.scale_stride;
    zeros = m.zeros + row / m.scale_rows * m.scale_stride;
    blocks = BlockWalk::over(m.scale_cols);
  }
  void decode(int64_t k, int64_t n, float* out) {
    float scale[kTile], zero[kTile];
    blocks.enter(k);
    blocks.spread(scales, k, n, scale);
    blocks.spread(zeros, k, n, zero);
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t pair = codes[(k + i) / 2];
      out[i] = (static_cast<float>(i % 2 == 0 ? pair & 15 : pair >> 4) - zero[i]) * scale[i];
    }
  }
};

}  // namespace

void gemm_int4(const GemmArgs* a) noexcept { gemm<Row>(*a); }

}  // namespace conclave::scalar
