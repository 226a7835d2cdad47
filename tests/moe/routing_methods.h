#pragma once
// The routing methods that models are published with, as points of RoutingSpec. k is the top_k that the method needs, 0: any.
#include <string_view>

#include "moe/routing.h"

namespace conclave::moe {

struct RoutingMethod {
  std::string_view name;
  RoutingSpec spec;
  int top_k = 0;
};

inline RoutingSpec routing(Score score, Renorm renorm) {
  RoutingSpec spec;
  spec.score = score;
  spec.renorm = renorm;
  return spec;
}
inline RoutingSpec biased(RoutingSpec spec, float scale = 1.0f) {
  spec.selection_bias = true;
  spec.scale = scale;
  return spec;
}
inline RoutingSpec grouped(RoutingSpec spec, int groups, int top_groups, GroupScore score) {
  spec.groups = static_cast<std::int16_t>(groups);
  spec.top_groups = static_cast<std::int16_t>(top_groups);
  spec.group_score = score;
  return spec;
}
inline RoutingSpec by_logit(RoutingSpec spec) {
  spec.select_by_logit = true;
  return spec;
}
inline RoutingSpec llama4_routing() {
  RoutingSpec spec = by_logit(routing(Score::sigmoid, Renorm::none));
  spec.weight_on_input = true;
  return spec;
}
inline RoutingSpec scaled(RoutingSpec spec, float scale) {
  spec.scale = scale;
  return spec;
}

inline const RoutingMethod kRoutingMethods[] = {
    {"default", routing(Score::softmax, Renorm::none)},
    {"renormalize", routing(Score::softmax, Renorm::softmax_topk)},
    {"renormalize_naive", routing(Score::softmax, Renorm::sum)},
    {"deepseek_v3", grouped(biased(routing(Score::sigmoid, Renorm::sum), 2.5f), 8, 4, GroupScore::sum_of_two_best)},
    {"deepseek_v3_one_group", biased(routing(Score::sigmoid, Renorm::sum), 2.827f)},
    {"deepseek_v2_groups", grouped(scaled(routing(Score::softmax, Renorm::none), 16.0f), 8, 3, GroupScore::best)},
    {"llama4", llama4_routing(), 1},
    {"top_k", routing(Score::identity, Renorm::none)},
    {"sigmoid_renorm", routing(Score::sigmoid, Renorm::sum)},
    {"minimax2", biased(routing(Score::sigmoid, Renorm::sum))},
    {"sigmoid", routing(Score::sigmoid, Renorm::none)},
    {"top_k_sigmoid", by_logit(routing(Score::sigmoid, Renorm::none))},
    {"deepseek_v4", biased(routing(Score::sqrt_softplus, Renorm::sum), 1.5f)},
    {"softmax_bias", biased(routing(Score::softmax, Renorm::sum))},
};

}  // namespace conclave::moe
