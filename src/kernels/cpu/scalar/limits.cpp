// What plain C reaches at most on the baseline processor: what the compiler makes of simple loops.
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
constexpr int kFloatLanes = 32;
constexpr int kByteLanes = 256;
}  // namespace

uint64_t read_streams(const uint8_t* bytes, int64_t n) noexcept {
  const int64_t stream = n / 4;
  uint64_t found[4] = {};
  for (int64_t i = 0; i < stream; i += 8) {
    for (int s = 0; s < 4; ++s) {
      uint64_t word;
      memcpy(&word, bytes + s * stream + i, sizeof(word));
      found[s] ^= word;
    }
  }
  return found[0] ^ found[1] ^ found[2] ^ found[3];
}

int64_t multiply_adds(int64_t rounds, double* sum) noexcept {
  volatile float known_to_nobody = 1.0f;
  const float one = known_to_nobody;
  float x[kFloatLanes] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& lane : x) lane = lane * one + one;
  }
  *sum = 0.0;
  for (const float lane : x) *sum += static_cast<double>(lane);
  return rounds * kFloatLanes;
}

int64_t byte_products(int64_t rounds, double* sum) noexcept {
  int8_t a[kByteLanes], b[kByteLanes];
  memset(a, 1, sizeof(a));
  memset(b, 1, sizeof(b));
  int64_t total = 0;
  for (int64_t i = 0; i < rounds; ++i) {
    asm volatile("" : : "r"(a), "r"(b) : "memory");  // the arrays may be others now, as far as the compiler knows
    int32_t dot = 0;
    for (int k = 0; k < kByteLanes; ++k) dot += a[k] * b[k];
    total += dot;
  }
  *sum = static_cast<double>(total);
  return rounds * kByteLanes;
}

}  // namespace conclave::scalar
