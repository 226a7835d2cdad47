// What AVX2 reaches at most. Byte products: 32 a multiplication, widened in two more instructions, as kernels do it.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::avx2 {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/avx2/vec.inc"

constexpr int kChains = 10;     // multiply-adds: enough to hide their latency, and few enough for 16 registers
constexpr int kByteChains = 4;  // sums, of latency 1

inline __m256i words(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }

}  // namespace

#include "kernels/cpu/vector/limits.inc"

uint64_t read_streams(const uint8_t* bytes, int64_t n) noexcept {
  const int64_t stream = n / 4;
  __m256i found[8];
  for (__m256i& f : found) f = _mm256_setzero_si256();
  for (int64_t i = 0; i < stream; i += 64) {
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) found[s] = _mm256_xor_si256(found[s], words(bytes + s / 2 * stream + i + s % 2 * 32));
  }
  for (int s = 1; s < 8; ++s) found[0] = _mm256_xor_si256(found[0], found[s]);
  alignas(32) uint64_t w[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(w), found[0]);
  return w[0] ^ w[1] ^ w[2] ^ w[3];
}

int64_t byte_products(int64_t rounds, double* sum) noexcept {
  __m256i ones = _mm256_set1_epi8(1);
  const __m256i pairs = _mm256_set1_epi16(1);
  __m256i x[kByteChains];
  for (__m256i& chain : x) chain = _mm256_setzero_si256();
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 4
    for (int c = 0; c < kByteChains; ++c) {
      asm volatile("" : "+x"(ones));  // another operand each time, as far as the compiler knows
      x[c] = _mm256_add_epi32(x[c], _mm256_madd_epi16(_mm256_maddubs_epi16(ones, ones), pairs));
    }
  }
  *sum = sum_of_lanes<int32_t>(x);
  return rounds * kByteChains * 32;
}

}  // namespace conclave::avx2
