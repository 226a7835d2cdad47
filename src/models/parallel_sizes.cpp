#include "models/parallel_sizes.h"

#include <fmt/format.h>

#include <algorithm>

namespace conclave {
namespace {

// A cut of an expert's width goes between rows of gate and up, and between columns of down. 0 shares all: any cut will do.
void cut_experts(const moe::MoeProblem& p, ParallelSize& size) {
  if (p.inter % size.ranks != 0)
    return size.problems.push_back(fmt::format("the experts' width {} is no multiple of {}", p.inter, size.ranks));
  const std::int32_t width = p.inter / size.ranks;
  const std::int32_t packed = p.weights.code == Code::int4 ? 8 : p.weights.code == Code::e2m1 ? 2 : 1;
  const auto say = [&](std::int32_t together, std::string_view of) {
    if (together > 1 && width % together != 0)
      size.problems.push_back(
          fmt::format("the experts' width {} gives each rank {}, no multiple of the {} {}", p.inter, width, together, of));
  };
  say(p.weights.scale_rows, fmt::format("rows of an {} block", to_string(p.weights)));
  say(std::max<std::int32_t>(p.weights.scale_cols, packed), fmt::format("columns of an {} block", to_string(p.weights)));
}

void cut_attention(const ModelConfig& c, bool latent, ParallelSize& size) {
  if (c.heads % size.ranks != 0)
    size.problems.push_back(fmt::format("{} attention heads are no multiple of {}", c.heads, size.ranks));
  if (!latent && c.kv_heads % size.ranks != 0 && size.ranks % c.kv_heads != 0)
    size.problems.push_back(fmt::format(
        "{} key-value heads can neither be divided among {} ranks nor be held by several of them each", c.kv_heads, size.ranks));
}

// Layers of one kind say the same.
void keep_distinct(std::vector<std::string>& problems) {
  std::ranges::sort(problems);
  problems.erase(std::unique(problems.begin(), problems.end()), problems.end());
}

}  // namespace

std::vector<ParallelSize> tensor_parallel_sizes(const ModelConfig& config, bool latent, std::span<const moe::MoeProblem> experts) {
  std::vector<ParallelSize> sizes;
  for (std::int32_t ranks = 1; ranks <= kMostRanks; ranks *= 2) {
    ParallelSize& size = sizes.emplace_back(ParallelSize{ranks, {}});
    cut_attention(config, latent, size);
    for (const moe::MoeProblem& p : experts)
      if (ranks > 1) cut_experts(p, size);
    keep_distinct(size.problems);
  }
  return sizes;
}

std::vector<ParallelSize> expert_parallel_sizes(std::span<const moe::MoeProblem> experts) {
  std::vector<ParallelSize> sizes;
  for (std::int32_t ranks = 1; ranks <= kMostRanks && !experts.empty(); ranks *= 2) {
    ParallelSize& size = sizes.emplace_back(ParallelSize{ranks, {}});
    for (const moe::MoeProblem& p : experts)
      if (p.experts % ranks != 0) size.problems.push_back(fmt::format("{} experts are no multiple of {}", p.experts, ranks));
    keep_distinct(size.problems);
  }
  return sizes;
}

}  // namespace conclave
