// MXFP4: E2M1 codes with an E8M0 scale for every 32 columns, in tiles.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::avx2 {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/avx2/vec.inc"

#include "kernels/cpu/avx2/tiles.inc"

struct Format : E2m1Bytes {
  static constexpr float kUnit = 0.5f;
  const uint8_t* at;

  void bind(const TileMatrix& w, int64_t tile, int64_t half) { at = w.scales + tile * w.scale_groups * 16 + half * 8; }
  // Code 0, 2^-127, becomes zero.
  Vec scales(int64_t block) const {
    const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + block / 2 * 16));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(codes), 23));
  }
};
}  // namespace

void tile_mxfp4(const TileArgs* a) noexcept { multiply<Format>(*a); }

}  // namespace conclave::avx2
