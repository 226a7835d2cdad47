#pragma once
// The slow, obvious twin that judges every other way to run experts: weights by their codecs, float64 sums, one thing at a time.
#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "device/workspace.h"
#include "moe/problem.h"
#include "moe/weights.h"

namespace conclave::moe {

// The routed experts for a given choice: hidden [T, H] f32 or bf16; ids i32, weights f32, both [T, K]; out f64 [T, H], overwritten.
// Ids of experts that are not local, and ids outside of [0, experts), contribute nothing.
void reference_experts(const MoeProblem&, const ExpertWeights&, ConstTensorView hidden, ConstTensorView ids,
                       ConstTensorView weights, TensorView out, Workspace&, Stream&) noexcept;
std::size_t reference_experts_workspace_bytes(const MoeProblem&, std::int64_t tokens, int threads);

}  // namespace conclave::moe
