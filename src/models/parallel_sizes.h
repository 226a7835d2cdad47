#pragma once
// Over how many ranks a model can be split, why not over others, and what each rank then holds. Found by planning what one rank
// has: the same model with its share of every width (Loader::share).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/file_set.h"
#include "models/model.h"

namespace conclave {

// The same for every rank: what cannot be divided evenly is a problem, and the vocabulary is filled up.
struct RankMemory {
  std::int64_t weight_bytes = 0, kv_values_per_token = 0;
  // What the largest step takes, with logits of the whole vocabulary; nothing where no backend of the device runs the experts.
  std::optional<std::int64_t> workspace_bytes;
};

// One number of ranks, and what speaks against it, or else what it takes.
struct ParallelSize {
  std::int32_t ranks = 1;
  std::vector<std::string> problems;
  RankMemory memory;
};
inline constexpr std::int32_t kMostRanks = 16;

// Tensor parallelism, sizes 1, 2, 4, ... kMostRanks, divided as Megatron and vLLM do it: heads, and the inner width of MLPs and
// experts, between the linears of a block, so that quantised matrices are cut at those places only; the rows of embedding and head,
// filled up to a multiple of 64; routers, latent projections and most norms whole. A key-value head may be held by several ranks.
// Of a published matrix that several maps share (Mamba's in_proj) the whole width is looked at, not where each part begins.
// `whole`: the plan of the model that the files describe. `each`: what every rank would be loaded with.
std::vector<ParallelSize> tensor_parallel_sizes(const FileSet&, const ModelReport& whole, const LoadContext& each, const StepSize&);
// Expert parallelism: whole experts, everything else whole on every rank. `one`: what the model takes where it is not divided; a
// rank has room for a step of which every token goes to its own experts, so the workspace is that of all. Nothing for a model
// without experts.
std::vector<ParallelSize> expert_parallel_sizes(const ModelReport& whole, const RankMemory& one);

}  // namespace conclave
