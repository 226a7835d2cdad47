#pragma once
// The element-wise function between an expert's two linears, in float64: the meaning of every ActivationSpec.
// Sources of the formulas: docs/experts.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "moe/problem.h"

namespace conclave::moe {

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The one-argument part: what a gate becomes before it multiplies `up`.
inline double activate(const ActivationSpec& spec, double x) {
  switch (spec.kind) {
    case Activation::silu: return x * sigmoid(x);
    case Activation::gelu: return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case Activation::gelu_tanh: return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::relu2: return x > 0.0 ? x * x : 0.0;
    case Activation::swiglu_oai: return x * sigmoid(static_cast<double>(spec.alpha) * x);
    case Activation::identity: break;
  }
  return x;
}

// g and u: gate and up values after scales and biases. The gate is clamped from above only, up on both sides.
inline double activate(const ActivationSpec& spec, double g, double u) {
  const double limit = spec.limit > 0.0f ? static_cast<double>(spec.limit) : std::numeric_limits<double>::infinity();
  const double offset = spec.kind == Activation::swiglu_oai ? static_cast<double>(spec.beta) : 0.0;
  return activate(spec, std::min(g, limit)) * (std::clamp(u, -limit, limit) + offset);
}

}  // namespace conclave::moe
