#pragma once
// Everything a backend may look at before it says yes. A plain value: printable, comparable, made without any model.
#include <cstdint>
#include <string>

#include "base/support.h"
#include "moe/routing.h"
#include "quant/scheme.h"
#include "tensor/dtype.h"

namespace conclave::moe {

// g: gate, u: up, both after scales and biases. Formulas: docs/experts.md.
enum class Activation : std::uint8_t {
  silu,  // gated: silu(g) * u, not gated: silu(u); the same pattern for all but swiglu_oai
  gelu,  // erf form
  gelu_tanh,
  relu2,       // max(x, 0)^2
  swiglu_oai,  // g' * sigmoid(alpha * g') * (clamp(u, +-limit) + beta), g' = min(g, limit); always gated
  identity,
};

struct ActivationSpec {
  Activation kind = Activation::silu;
  bool gated = true;     // gate and up; otherwise up alone
  float alpha = 1.702f;  // swiglu_oai only
  float beta = 1.0f;     // swiglu_oai only
  float limit = 0.0f;    // 0: no clamp. Gated silu too: g' = min(g, limit), u' = clamp(u, +-limit)
  bool operator==(const ActivationSpec&) const = default;
};

struct MoeProblem {
  std::int32_t experts = 0;      // E, of the model
  std::int32_t top_k = 0;        // K
  std::int32_t hidden = 0;       // H
  std::int32_t inter = 0;        // I, per expert
  std::int32_t local_first = 0;  // experts [local_first, local_first + local_count) live here
  std::int32_t local_count = 0;
  std::int32_t max_tokens = 0;  // most tokens of one call
  RoutingSpec routing;
  ActivationSpec activation;
  bool expert_bias = false;  // biases on gate/up and on down (gpt-oss)
  QuantScheme weights = kBf16;
  // What the inputs of the experts' linears are rounded to. kF32: not at all, which is what the engine asks for unless told
  // otherwise: weight-only kernels (W4A16 and the like) are right for every checkpoint, calibrated or not.
  QuantScheme activations = kF32;
  DType io = DType::f32;  // of hidden and out
  DType router_logits = DType::f32;
  bool deterministic = false;
  bool operator==(const MoeProblem&) const = default;
};
// "16 experts, top 4, H 256, I 128, nvfp4, gated silu, softmax renormalised"; what is not usual is said too.
std::string to_string(const MoeProblem&);
std::string to_string(const ActivationSpec&);

// Whether the problem means something at all, whoever runs it: the base of every backend's supports().
Support well_formed(const MoeProblem&);

}  // namespace conclave::moe
