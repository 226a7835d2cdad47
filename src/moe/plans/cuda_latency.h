#pragma once
// How the experts kernel of CUDA devices is cut up, and what a call of it costs: pure, so that it is tested without a GPU.
#include <cstdint>

#include "moe/problem.h"

namespace conclave::moe {

// Tokens that one launch takes; more are run one launch after another.
std::int64_t cuda_latency_tokens(const MoeProblem&);

// In how many parts the columns of down are summed, so that `blocks` blocks get nearly equal numbers of items. Divides ceil(I /
// 128).
std::int32_t cuda_down_chunks(const MoeProblem&, std::int64_t tokens, std::int32_t blocks);

// Experts that so many tokens are expected to reach when all are as likely, at least one where there are any.
double expected_active_experts(const MoeProblem&, std::int64_t tokens);

// Microseconds, for an H200: docs/performance.md.
double cuda_latency_cost(const MoeProblem&, std::int64_t tokens);

}  // namespace conclave::moe
