// INT4: codes 0..15 around a zero point, with a float32 scale for a group of columns, in tiles.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::avx2 {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/avx2/vec.inc"

#include "kernels/cpu/avx2/tiles.inc"

struct Format {
  static constexpr float kUnit = 1.0f;
  const float* scale;
  const uint8_t* zero;
  int64_t blocks;  // that share a scale

  void bind(const TileMatrix& w, int64_t tile, int64_t half) {
    const int64_t first = tile * w.scale_groups * 16 + half * 8;
    scale = reinterpret_cast<const float*>(w.scales) + first;
    zero = w.zeros == nullptr ? nullptr : w.zeros + first;
    blocks = w.scale_blocks;
  }
  static __m256i bytes(__m256i nibbles) { return nibbles; }
  Vec scales(int64_t block) const { return load(scale + block / blocks * 16); }
  __m256i offsets(int64_t block) const {
    if (zero == nullptr) return _mm256_set1_epi32(8);
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(zero + block / blocks * 16)));
  }
  __m256i added(int64_t block, int32_t sum) const {
    if (zero == nullptr) return _mm256_set1_epi32(8 * sum);
    return _mm256_mullo_epi32(offsets(block), _mm256_set1_epi32(sum));
  }
};
}  // namespace

void tile_int4(const TileArgs* a) noexcept { multiply<Format>(*a); }

}  // namespace conclave::avx2
