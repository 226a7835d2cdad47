// What AVX-512 reaches at most. Byte products: 64 in one instruction of VNNI.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::avx512 {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/avx512/vec.inc"

constexpr int kChains = 12;  // of either kind: enough to hide the latency of an instruction
}  // namespace

#include "kernels/cpu/vector/limits.inc"

uint64_t read_streams(const uint8_t* bytes, int64_t n) noexcept {
  const int64_t stream = n / 4;
  __m512i found[8];
  for (__m512i& f : found) f = _mm512_setzero_si512();
  for (int64_t i = 0; i < stream; i += 128) {
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) found[s] = _mm512_xor_si512(found[s], _mm512_load_si512(bytes + s / 2 * stream + i + s % 2 * 64));
  }
  for (int s = 1; s < 8; ++s) found[0] = _mm512_xor_si512(found[0], found[s]);
  alignas(64) uint64_t w[8];
  _mm512_store_si512(w, found[0]);
  return w[0] ^ w[1] ^ w[2] ^ w[3] ^ w[4] ^ w[5] ^ w[6] ^ w[7];
}

int64_t byte_products(int64_t rounds, double* sum) noexcept {
  __m512i ones = _mm512_set1_epi8(1);
  asm volatile("" : "+v"(ones));
  __m512i x[kChains];
  for (__m512i& chain : x) chain = _mm512_setzero_si512();
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) x[c] = _mm512_dpbusd_epi32(x[c], ones, ones);
  }
  *sum = sum_of_lanes<int32_t>(x);
  return rounds * kChains * 64;
}

}  // namespace conclave::avx512
