#include "models/parallel_sizes.h"

#include <fmt/format.h>

#include <algorithm>

namespace conclave {
namespace {

// A cut of an expert's width goes through rows of gate and up and through columns of down.
std::int32_t smallest_cut(const QuantScheme& s) {
  const std::int32_t per_word = s.code == Code::int4 ? 8 : s.code == Code::e2m1 ? 2 : 1;
  return std::max({std::int32_t{s.scale_rows}, std::int32_t{s.scale_cols}, per_word, std::int32_t{1}});
}

void cut_experts(const moe::MoeProblem& p, ParallelSize& size) {
  const std::int32_t cut = smallest_cut(p.weights);
  if (p.inter % size.ranks != 0)
    size.problems.push_back(fmt::format("the experts' width {} is no multiple of {}", p.inter, size.ranks));
  else if (p.inter / size.ranks % cut != 0)
    size.problems.push_back(fmt::format("the experts' width {} gives each rank {}, which cuts the {} of {} rows and columns",
                                        p.inter, p.inter / size.ranks, to_string(p.weights) + " blocks", cut));
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

std::vector<ParallelSize> tensor_parallel_sizes(const ModelConfig& config, bool latent, std::span<const moe::MoeProblem> experts,
                                                std::int32_t most) {
  std::vector<ParallelSize> sizes;
  for (std::int32_t ranks = 1; ranks <= most; ranks *= 2) {
    ParallelSize& size = sizes.emplace_back(ParallelSize{ranks, {}});
    cut_attention(config, latent, size);
    for (const moe::MoeProblem& p : experts)
      if (ranks > 1) cut_experts(p, size);
    keep_distinct(size.problems);
  }
  return sizes;
}

std::vector<ParallelSize> expert_parallel_sizes(std::span<const moe::MoeProblem> experts, std::int32_t most) {
  std::vector<ParallelSize> sizes;
  for (std::int32_t ranks = 1; ranks <= most && !experts.empty(); ranks *= 2) {
    ParallelSize& size = sizes.emplace_back(ParallelSize{ranks, {}});
    for (const moe::MoeProblem& p : experts)
      if (p.experts % ranks != 0) size.problems.push_back(fmt::format("{} experts are no multiple of {}", p.experts, ranks));
    keep_distinct(size.problems);
  }
  return sizes;
}

}  // namespace conclave
