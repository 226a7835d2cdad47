#pragma once
// How tokens choose experts. A routing method is a point in a small space, not one of N names: a new model is new values.
// Formulas and rules: docs/routing.md (from vLLM's and FlashInfer's sources).
#include <cstdint>
#include <span>
#include <string>

namespace conclave::moe {

enum class Score : std::uint8_t { softmax, sigmoid, sqrt_softplus, identity };
enum class Renorm : std::uint8_t {
  none,
  sum,           // weights divided by their sum over the chosen experts (0 when the sum is 0)
  softmax_topk,  // softmax over the chosen logits only; `score` is not used
};
enum class GroupScore : std::uint8_t { best, sum_of_two_best };

struct RoutingSpec {
  Score score = Score::softmax;
  Renorm renorm = Renorm::none;
  bool select_by_logit = false;  // choose by the raw logit, weigh by the score (Llama-4)
  bool selection_bias = false;   // a float32 bias per expert, added for the choice only, never for the weight
  std::int16_t groups = 1;       // experts come in equal groups; first the best top_groups groups are kept
  std::int16_t top_groups = 1;
  GroupScore group_score = GroupScore::best;
  float scale = 1.0f;            // multiplies the final weights (routed_scaling_factor)
  bool weight_on_input = false;  // the weight multiplies the expert's input, not its output (top_k must be 1)
  bool operator==(const RoutingSpec&) const = default;
};
std::string to_string(const RoutingSpec&);

// Chosen experts and their final weights for one token, best first. This is the reference: float32 scores, every rule stated.
//   logits [experts]; bias [experts] or empty; ids, weights [top_k].
//   Ties: the lower expert index wins. NaN scores count as the lowest and weigh 0; -inf logits are allowed; when nothing is
//   finite the ids are 0..k-1 in order. Ids are never repeated and always in range. top_k <= experts.
void route_row(const RoutingSpec&, std::span<const float> logits, std::span<const float> bias, std::span<std::int32_t> ids,
               std::span<float> weights) noexcept;

}  // namespace conclave::moe
