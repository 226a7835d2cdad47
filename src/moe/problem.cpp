#include "moe/problem.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

namespace conclave::moe {
namespace {

// What a row of `cols` codes must be a multiple of: the elements that share a stored word and, for 4-bit floats, a scale.
std::int64_t column_step(const QuantScheme& scheme) {
  switch (scheme.code) {
    case Code::e2m1: return scheme.scale_cols > 0 ? scheme.scale_cols : 2;
    case Code::int4: return 8;
    default: return 1;
  }
}

void need_routing(const MoeProblem& p, Support& support) {
  const RoutingSpec& r = p.routing;
  support.need(p.top_k >= 1 && p.top_k <= p.experts, Why::routing,
               fmt::format("top_k must be in [1, {}], it is {}", p.experts, p.top_k));
  support.need(r.groups >= 1 && r.top_groups >= 1 && r.top_groups <= r.groups, Why::routing,
               fmt::format("the kept groups must be in [1, {}], they are {}", r.groups, r.top_groups));
  if (r.groups >= 1 && p.experts >= 1) {
    support.need(p.experts % r.groups == 0, Why::routing,
                 fmt::format("{} experts do not split into {} equal groups", p.experts, r.groups));
    const std::int64_t reachable = std::int64_t{p.experts} / r.groups * r.top_groups;
    support.need(p.top_k <= reachable, Why::routing,
                 fmt::format("top_k is {} and the kept groups hold only {} experts", p.top_k, reachable));
  }
  support.need(!r.weight_on_input || p.top_k == 1, Why::routing,
               fmt::format("weights on the input need top_k 1, it is {}", p.top_k));
  support.need(std::isfinite(r.scale), Why::routing, "the routing scale must be finite");
}

void need_activation(const ActivationSpec& a, Support& support) {
  support.need(a.kind != Activation::swiglu_oai || a.gated, Why::activation, "swiglu_oai needs a gate");
  support.need(std::isfinite(a.limit) && a.limit >= 0.0f, Why::activation,
               fmt::format("the limit must be 0 or more, it is {}", a.limit));
  const bool may_clamp = a.gated && (a.kind == Activation::silu || a.kind == Activation::swiglu_oai);
  support.need(a.limit == 0.0f || may_clamp, Why::activation, "only gated silu and swiglu_oai have a limit");
}

}  // namespace

Support well_formed(const MoeProblem& p) {
  Support support;
  support.need(p.experts >= 1 && p.experts <= static_cast<std::int32_t>(kMaxExperts), Why::shape,
               fmt::format("experts must be in [1, {}], they are {}", kMaxExperts, p.experts));
  support.need(p.hidden >= 1 && p.inter >= 1, Why::shape, fmt::format("H {} and I {} must be positive", p.hidden, p.inter));
  support.need(p.local_first >= 0 && p.local_count >= 0 && std::int64_t{p.local_first} + p.local_count <= p.experts, Why::parallel,
               fmt::format("local experts [{}, {}) lie outside of [0, {})", p.local_first,
                           std::int64_t{p.local_first} + p.local_count, p.experts));
  support.need(p.max_tokens >= 0 && std::int64_t{p.max_tokens} * p.top_k <= std::numeric_limits<std::int32_t>::max(), Why::tokens,
               fmt::format("{} tokens of {} experts each are more than one call can number", p.max_tokens, p.top_k));
  const std::int64_t step = column_step(p.weights);
  support.need(p.hidden % step == 0 && p.inter % step == 0, Why::shape,
               fmt::format("H {} and I {} must be multiples of {} for {} weights", p.hidden, p.inter, step, to_string(p.weights)));
  need_routing(p, support);
  need_activation(p.activation, support);
  return support;
}

std::string to_string(const ActivationSpec& a) {
  constexpr std::string_view kNames[] = {"silu", "gelu", "gelu_tanh", "relu2", "swiglu_oai", "identity"};
  std::string out = fmt::format("{}{}", a.gated ? "gated " : "", kNames[static_cast<std::size_t>(a.kind)]);
  if (a.kind == Activation::swiglu_oai) out += fmt::format(" alpha {} beta {}", a.alpha, a.beta);
  if (a.limit > 0.0f) out += fmt::format(" limit {}", a.limit);
  return out;
}

std::string to_string(const MoeProblem& p) {
  std::string out = fmt::format("{} experts, top {}, H {}, I {}, {}", p.experts, p.top_k, p.hidden, p.inter, to_string(p.weights));
  if (p.activations != kF32) out += fmt::format(" x {}", to_string(p.activations));
  out += fmt::format(", {}, {}", to_string(p.activation), to_string(p.routing));
  if (p.expert_bias) out += ", biases";
  if (p.local_count != p.experts) out += fmt::format(", experts {} to {} here", p.local_first, p.local_first + p.local_count - 1);
  if (p.io != DType::f32) out += fmt::format(", {} in and out", to_string(p.io));
  if (p.router_logits != DType::f32) out += fmt::format(", {} logits", to_string(p.router_logits));
  if (p.deterministic) out += ", deterministic";
  return out;
}

}  // namespace conclave::moe
