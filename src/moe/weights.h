#pragma once
// The canonical weights of one MoE layer, as a backend receives them: per expert, as published, nothing repacked.
#include <vector>

#include "moe/problem.h"
#include "quant/matrix.h"

namespace conclave::moe {

// gate [I, H] (empty when the activation is not gated), up [I, H], down [H, I]; biases f32 or bf16, [I], [I], [H], or empty.
// Gate and up are matrices of their own, so each keeps its own global scale exactly.
struct Expert {
  QuantMatrix gate, up, down;
  ConstTensorView gate_bias, up_bias, down_bias;
};

struct ExpertWeights {
  std::vector<Expert> experts;  // the local ones, in order: experts[i] is expert local_first + i
};

// Every build() begins with it. Shapes or formats that are not the problem's are our bug (only the type of scales, and which plain
// type, may differ: a checkpoint decides that per tensor); an expert without the static input
// scale that problem.activations needs (never hit in calibration) is Error{unsupported} naming all such experts. No expert at all
// is a plan's (MoeBackend::build).
void check_weights(const MoeProblem&, const ExpertWeights&);

}  // namespace conclave::moe
