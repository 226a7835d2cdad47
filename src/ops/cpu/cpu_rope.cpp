#include "ops/cpu/cpu_rope.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace conclave {
namespace {

constexpr int kPairs = 32;  // turned at once: their sines and cosines are computed once for all heads

struct Turns {
  float cos[kPairs], sin[kPairs];
};

// The angle is a float32 product, as checkpoints were trained with; an exact one would differ at long contexts.
void compute_turns(const Rope& rope, std::int32_t position, int first, int count, Turns& turns) noexcept {
  for (int i = 0; i < count; ++i) {
    const float angle = static_cast<float>(position) * rope.inv_freq[static_cast<std::size_t>(first + i)];
    turns.cos[i] = std::cos(angle) * rope.magnitude;
    turns.sin[i] = std::sin(angle) * rope.magnitude;
  }
}

void turn_halves(float* low, float* high, const Turns& turns, int count) noexcept {
  for (int i = 0; i < count; ++i) {
    const float a = low[i], b = high[i];
    low[i] = a * turns.cos[i] - b * turns.sin[i];
    high[i] = b * turns.cos[i] + a * turns.sin[i];
  }
}

void turn_neighbours(float* pairs, const Turns& turns, int count) noexcept {
  for (int i = 0; i < count; ++i) {
    const float a = pairs[2 * i], b = pairs[2 * i + 1];
    pairs[2 * i] = a * turns.cos[i] - b * turns.sin[i];
    pairs[2 * i + 1] = b * turns.cos[i] + a * turns.sin[i];
  }
}

void turn_token(float* token, std::int64_t heads, std::int64_t head_stride, std::int32_t position, const Rope& rope) noexcept {
  const int pairs = rope.rotary_dim / 2;
  Turns turns;
  for (int first = 0; first < pairs; first += kPairs) {
    const int count = std::min(kPairs, pairs - first);
    compute_turns(rope, position, first, count, turns);
    for (std::int64_t head = 0; head < heads; ++head) {
      float* const x = token + head * head_stride;
      if (rope.interleaved) {
        turn_neighbours(x + 2 * first, turns, count);
      } else {
        turn_halves(x + first, x + pairs + first, turns, count);
      }
    }
  }
}

}  // namespace

void cpu_rope(TensorView x, std::span<const std::int32_t> positions, const Rope& rope, ThreadPool& pool) noexcept {
  constexpr std::int64_t kValuesPerTask = 8192;
  const std::int64_t tokens = x.shape[0], heads = x.shape[1];
  CONCLAVE_CHECK(static_cast<std::int64_t>(positions.size()) == tokens && x.shape[2] == rope.head_dim);
  CONCLAVE_CHECK(rope.rotary_dim <= rope.head_dim && rope.inv_freq.size() == static_cast<std::size_t>(rope.rotary_dim / 2));
  const std::int64_t per_task = std::max<std::int64_t>(1, kValuesPerTask / std::max<std::int64_t>(1, heads * rope.rotary_dim));
  pool.for_each(ceil_div(tokens, per_task), [&](std::int64_t task, int) noexcept {
    for (std::int64_t t = task * per_task; t < std::min(tokens, (task + 1) * per_task); ++t)
      turn_token(x.row<float>(t), heads, x.stride[1], positions[static_cast<std::size_t>(t)], rope);
  });
}

}  // namespace conclave
