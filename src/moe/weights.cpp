#include "moe/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "base/check.h"
#include "conclave/error.h"

namespace conclave::moe {
namespace {

// Checkpoints decide themselves how scales and plain values are stored; all else must be as the problem says.
bool same_format(const QuantScheme& a, QuantScheme b) {
  b.scale = a.scale;
  return a == b || (!a.scaled && !b.scaled);
}

void check_matrix(const QuantMatrix& m, const QuantScheme& scheme, std::int64_t rows, std::int64_t cols) {
  CONCLAVE_CHECK(
      m && same_format(m.scheme, scheme) && m.rows == rows && m.cols == cols,
      fmt::format("{} [{}, {}], expected {} [{}, {}]", to_string(m.scheme), m.rows, m.cols, to_string(scheme), rows, cols));
}

void check_bias(const ConstTensorView& bias, bool wanted, std::int64_t length) {
  CONCLAVE_CHECK(static_cast<bool>(bias) == wanted);
  if (wanted) CONCLAVE_CHECK(bias.shape == Shape{length} && (bias.dtype == DType::f32 || bias.dtype == DType::bf16));
}

}  // namespace

void check_weights(const MoeProblem& p, const ExpertWeights& weights) {
  if (weights.experts.empty()) return;
  CONCLAVE_CHECK(weights.experts.size() == static_cast<std::size_t>(p.local_count));
  const bool gated = p.activation.gated;
  const bool needs_input_scales = p.activations == kFp8TensorStatic || p.activations == kNvfp4Activation;
  std::vector<std::string> uncalibrated;
  for (std::size_t i = 0; i < weights.experts.size(); ++i) {
    const Expert& e = weights.experts[i];
    if (gated) check_matrix(e.gate, p.weights, p.inter, p.hidden);
    CONCLAVE_CHECK(gated || !e.gate);
    check_matrix(e.up, p.weights, p.inter, p.hidden);
    check_matrix(e.down, p.weights, p.hidden, p.inter);
    check_bias(e.gate_bias, gated && p.expert_bias, p.inter);
    check_bias(e.up_bias, p.expert_bias, p.inter);
    check_bias(e.down_bias, p.expert_bias, p.hidden);
    const bool calibrated = (!gated || e.gate.input_scale > 0.0f) && e.up.input_scale > 0.0f && e.down.input_scale > 0.0f;
    if (needs_input_scales && !calibrated) uncalibrated.push_back(std::to_string(p.local_first + static_cast<int>(i)));
  }
  if (!uncalibrated.empty())
    throw Error(
        Errc::unsupported,
        fmt::format("activations of {} need the input scale of every expert; the checkpoint has none for expert {} (of gate, up "
                    "or down); run weight-only (activations f32) instead",
                    to_string(p.activations), fmt::join(uncalibrated, ", ")));
}

}  // namespace conclave::moe
