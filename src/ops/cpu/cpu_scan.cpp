#include "ops/cpu/cpu_scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/math.h"

namespace conclave {
namespace {

constexpr std::int64_t kChannels = 512;  // of one task: its inputs of a few rows stay in the nearest cache

// [rows, heads, values] -> the values of one head of one row.
template <class Byte>
auto* head_of(const BasicTensorView<Byte>& x, std::int64_t row, std::int64_t head) noexcept {
  return x.template row<float>(row) + head * x.stride[1];
}

float softplus(float x) noexcept { return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))); }

// Channels [first, first + count) of one sequence.
struct ConvPart {
  const ConstTensorView &x, &weight, &bias;
  const TensorView& out;
  const SequenceRows& sequence;
  float* history;  // [W - 1, C]
  std::int64_t first, count;

  // The inputs at `i`: those from before the batch, then its rows.
  const float* input(std::int64_t i) const noexcept {
    const std::int64_t kept = weight.shape[1] - 1;
    return (i < kept ? history + i * x.shape[1] : x.row<float>(sequence.first_row + i - kept)) + first;
  }

  void run() const noexcept {
    const std::int64_t width = weight.shape[1];
    if (sequence.begins())
      for (std::int64_t k = 0; k + 1 < width; ++k) std::fill_n(history + k * x.shape[1] + first, count, 0.0f);
    for (std::int64_t t = 0; t < sequence.rows; ++t) {
      float* const to = out.row<float>(sequence.first_row + t) + first;
      std::memcpy(to, bias.as<float>() + first, static_cast<std::size_t>(count) * sizeof(float));
      for (std::int64_t k = 0; k < width; ++k) {
        const float* const in = input(t + k);
        const float* const w = weight.as<float>() + first * width + k;
        for (std::int64_t c = 0; c < count; ++c) to[c] += w[c * width] * in[c];
      }
    }
    // Each moves to an earlier place, so ascending order overwrites nothing that is still needed.
    for (std::int64_t k = 0; k + 1 < width; ++k)
      std::memmove(history + k * x.shape[1] + first, input(sequence.rows + k), static_cast<std::size_t>(count) * sizeof(float));
  }
};

void scan_head(const KernelTable& kernels, const SelectiveScan& scan, const SequenceRows& s, std::int64_t head, float* state,
               const TensorView& out) noexcept {
  const std::int64_t dim = scan.x.shape[2], states = scan.b.shape[2];
  const std::int64_t group = head / (scan.x.shape[1] / scan.b.shape[1]);
  const float rate = -std::exp(scan.a_log.as<float>()[head]), skip = scan.d.as<float>()[head];
  if (s.begins()) std::fill_n(state, dim * states, 0.0f);
  for (std::int64_t row = s.first_row; row < s.first_row + s.rows; ++row) {
    const float* const x = head_of(scan.x, row, head);
    const float* const b = head_of(scan.b, row, group);
    const float* const c = head_of(scan.c, row, group);
    float* const to = head_of(out, row, head);
    const float delta = softplus(scan.dt.row<float>(row)[head] + scan.dt_bias.as<float>()[head]);
    const float decay = std::exp(rate * delta);
    for (std::int64_t p = 0; p < dim; ++p)
      to[p] = kernels.scan_step(state + p * states, decay, delta * x[p], b, c, states) + skip * x[p];
  }
}

}  // namespace

void cpu_causal_conv(ConstTensorView x, ConstTensorView weight, ConstTensorView bias, const Batch& batch, TensorView history,
                     TensorView out, ThreadPool& pool) noexcept {
  const std::int64_t parts = ceil_div(x.shape[1], kChannels);
  pool.for_each(parts * static_cast<std::int64_t>(batch.sequences.size()), [&](std::int64_t task, int) noexcept {
    const SequenceRows& s = batch.sequences[static_cast<std::size_t>(task / parts)];
    const std::int64_t first = task % parts * kChannels;
    ConvPart{x, weight, bias, out, s, history.row<float>(s.slot), first, std::min(kChannels, x.shape[1] - first)}.run();
  });
}

void cpu_selective_scan(const KernelTable& kernels, const SelectiveScan& scan, const Batch& batch, TensorView state, TensorView out,
                        ThreadPool& pool) noexcept {
  const std::int64_t heads = scan.x.shape[1];
  pool.for_each(heads * static_cast<std::int64_t>(batch.sequences.size()), [&](std::int64_t task, int) noexcept {
    const SequenceRows& s = batch.sequences[static_cast<std::size_t>(task / heads)];
    const std::int64_t head = task % heads;
    scan_head(kernels, scan, s, head, head_of(state, s.slot, head), out);
  });
}

}  // namespace conclave
