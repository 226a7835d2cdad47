#pragma once
// Over how many ranks a model's layers can be split, and why not over others. These are properties of the shapes and formats: a
// quantised matrix can be cut only where a block of scales ends.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/config.h"
#include "moe/problem.h"

namespace conclave {

// One number of ranks and what speaks against it.
struct ParallelSize {
  std::int32_t ranks = 1;
  std::vector<std::string> problems;
};
inline constexpr std::int32_t kMostRanks = 16;

// Tensor parallelism, sizes 1, 2, 4, ... kMostRanks. Looked at: attention heads, key-value heads (one may be held by several ranks,
// as a whole; with `latent` every rank holds the one latent vector), and the width of routed experts. Not at other matrices.
std::vector<ParallelSize> tensor_parallel_sizes(const ModelConfig&, bool latent, std::span<const moe::MoeProblem>);
// Expert parallelism: whole experts. Nothing for a model without experts.
std::vector<ParallelSize> expert_parallel_sizes(std::span<const moe::MoeProblem>);

}  // namespace conclave
