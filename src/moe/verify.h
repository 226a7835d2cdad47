#pragma once
// Verify on build: the first layer of each distinct problem runs a few tokens through the kernel and through the reference.
// It turns the commonest MoE bug, fluent garbage, into one sentence before the first request.
#include <cstdint>
#include <string>

#include "moe/backend.h"

namespace conclave::moe {

struct Verification {
  bool passed = false;
  double relative_error = 0;  // rms(kernel - reference) / rms(reference), worst token
  double tolerance = 0;       // from the formats' epsilon and the lengths of the sums
  std::string words;          // one sentence for logs and errors
};

// The relative error allowed for a problem: the same rule that the conformance suite uses. Float32 sums of n terms stray by about
// sqrt(n) roundings of 2^-24, times a factor for unlucky orders and approximated exponentials; activations and results of fewer
// bits add what their rounding costs.
double tolerance_of(const MoeProblem&);

// The row with the largest rms(got - expected) / rms(expected); a NaN is the largest. Views [T, H] of f32, bf16 or f64 in host
// memory; row is -1 when T is 0.
struct RowError {
  std::int64_t row = -1;
  double error = 0;
};
RowError worst_row(const ConstTensorView& got, const ConstTensorView& expected);

Verification verify_kernel(const MoeProblem&, const ExpertWeights&, const MoeKernel&, Device&);

}  // namespace conclave::moe
