// NVFP4: E2M1 codes with an E4M3 scale for every 16 columns, in tiles.
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
  static constexpr float kUnit = 128.0f;  // half, and 2^8: E4M3 read as the upper bits of a half-precision float lacks that much
  const uint8_t* at;

  void bind(const TileMatrix& w, int64_t tile, int64_t half) { at = w.scales + tile * w.blocks * 16 + half * 8; }
  Vec scales(int64_t block) const {
    const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + block * 16));
    return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(codes), 7));
  }
};
}  // namespace

void tile_nvfp4(const TileArgs* a) noexcept { multiply<Format>(*a); }

}  // namespace conclave::avx2
