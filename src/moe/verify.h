#pragma once
// Verify on build: the first layer of each distinct problem runs a few tokens through the kernel and through the reference.
// It turns the commonest MoE bug, fluent garbage, into one sentence before the first request.
#include <string>

#include "moe/backend.h"

namespace conclave::moe {

struct Verification {
  bool passed = false;
  double relative_error = 0;  // rms(kernel - reference) / rms(reference), worst token
  double tolerance = 0;       // from the formats' epsilon and the lengths of the sums
  std::string words;          // one sentence for logs and errors
};

// The relative error allowed for a problem: the same rule that the conformance suite uses.
double tolerance_of(const MoeProblem&);

Verification verify_kernel(const MoeProblem&, const ExpertWeights&, const MoeKernel&, Device&);

}  // namespace conclave::moe
