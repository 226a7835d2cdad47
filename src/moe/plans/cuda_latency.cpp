#include "moe/plans/cuda_latency.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "kernels/cuda/moe/launch.h"

namespace conclave::moe {
namespace {

// Most parts: each costs a write and a read of float32 results. Fewest units of one: beginning an item takes as long as a few
// units.
constexpr std::int64_t kMostChunks = 8, kFewestUnits = 8;
// Work a part more must save to be worth it.
constexpr double kWorthwhile = 0.03;

}  // namespace

std::int64_t cuda_latency_tokens(const MoeProblem& p) {
  return std::clamp<std::int64_t>(cuda::kMaxCallPairs / std::max(p.top_k, 1), 1, cuda::kMaxCallTokens);
}

double expected_active_experts(const MoeProblem& p, std::int64_t tokens) {
  if (p.local_count == 0 || tokens == 0) return 0.0;
  const double missed = std::pow(1.0 - static_cast<double>(p.top_k) / p.experts, static_cast<double>(tokens));
  return std::max(1.0, p.local_count * (1.0 - missed));
}

std::int32_t cuda_down_chunks(const MoeProblem& p, std::int64_t tokens, std::int32_t blocks) {
  const std::int64_t units = ceil_div(p.inter, 128), rows = ceil_div(p.hidden, 32);
  const auto groups = static_cast<std::int64_t>(std::lround(expected_active_experts(p, tokens)));
  const auto waste = [&](std::int64_t chunks) {
    const std::int64_t items = std::max<std::int64_t>(groups * rows * chunks, 1);
    return static_cast<double>(round_up<std::int64_t>(items, blocks)) / static_cast<double>(items);
  };
  std::int64_t best = 1;
  for (std::int64_t chunks = 2; chunks <= std::min(units / kFewestUnits, kMostChunks); ++chunks)
    if (units % chunks == 0 && waste(chunks) < waste(best) - kWorthwhile) best = chunks;
  return static_cast<std::int32_t>(best);
}

double cuda_latency_cost(const MoeProblem& p, std::int64_t tokens) {
  constexpr double kLaunch = 9.0, kBytesPerMicrosecond = 3.9e6, kBitsPerWeight = 4.5;
  const double expert_bytes = (p.activation.gated ? 3.0 : 2.0) * p.hidden * p.inter * kBitsPerWeight / 8.0;
  double cost = 0.0;
  for (std::int64_t left = std::max<std::int64_t>(tokens, 1); left > 0; left -= cuda_latency_tokens(p))
    cost += kLaunch + expert_bytes * expected_active_experts(p, std::min(left, cuda_latency_tokens(p))) / kBytesPerMicrosecond;
  return cost;
}

}  // namespace conclave::moe
