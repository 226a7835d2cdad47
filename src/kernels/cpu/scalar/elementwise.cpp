// The element-wise kernels in plain C++.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/numbers.inc"

constexpr int64_t kLanes = 8;  // partial sums, added pairwise at the end

template <class Product>
inline float sum_of(int64_t n, Product product) {
  float lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lane[j] += product(i + j);
  }
  for (int64_t j = 0; i + j < n; ++j) lane[j] += product(i + j);
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

}  // namespace

#include "kernels/cpu/int_blocks.inc"

float dot(const float* a, const float* b, int64_t n) noexcept {
  return sum_of(n, [=](int64_t i) { return a[i] * b[i]; });
}

float dot_bf16(const float* a, const uint16_t* b, int64_t n) noexcept {
  return sum_of(n, [=](int64_t i) { return a[i] * bf16_value(b[i]); });
}

void axpy(float* y, float a, const float* x, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

void axpy_bf16(float* y, float a, const uint16_t* x, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] += a * bf16_value(x[i]);
}

void to_bf16(const float* x, uint16_t* out, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const uint32_t half_less_one_to_even = 0x7fffu + ((bits >> 16) & 1u);
    out[i] = static_cast<uint16_t>(is_nan ? (bits >> 16) | 0x40u : (bits + half_less_one_to_even) >> 16);
  }
}

void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n) noexcept {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto scale = static_cast<float>(1.0 / sqrt(squares / static_cast<double>(n) + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) out[i] = weight ? x[i] * scale * weight[i] : x[i] * scale;
}

void silu_mul(const float* gate, const float* up, float* out, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

float exp_sum(float* x, int64_t n, float* max) noexcept {
  float m = -INFINITY;
  for (int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  *max = m;
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] == m ? 1.0f : expf(x[i] - m);  // infinity less itself would be NaN
  return sum_of(n, [=](int64_t i) { return x[i]; });
}

float scan_step(float* state, float decay, float input, const float* b, const float* c, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) state[i] = decay * state[i] + input * b[i];
  return dot(state, c, n);
}

}  // namespace conclave::scalar
