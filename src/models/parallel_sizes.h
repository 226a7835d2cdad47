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

// One number of ranks. Empty `problems`: it works.
struct ParallelSize {
  std::int32_t ranks = 1;
  std::vector<std::string> problems;
};

// Tensor parallelism: attention by heads (a key-value head may be held by several ranks, as a whole), experts by width.
// Sizes 1, 2, 4, ... up to `most`. `latent`: keys and values are one latent vector, which every rank holds.
std::vector<ParallelSize> tensor_parallel_sizes(const ModelConfig&, bool latent, std::span<const moe::MoeProblem>,
                                                std::int32_t most);
// Expert parallelism: whole experts. Nothing for a model without experts.
std::vector<ParallelSize> expert_parallel_sizes(std::span<const moe::MoeProblem>, std::int32_t most);

}  // namespace conclave
