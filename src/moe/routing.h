#pragma once
// How tokens choose experts. A routing method is a point in a small space, not one of N names: a new model is new values.
// Formulas and rules: docs/routing.md (from vLLM's and FlashInfer's sources).
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace conclave::moe {

enum class Score : std::uint8_t { softmax, sigmoid, sqrt_softplus, identity };
enum class Renorm : std::uint8_t {
  none,
  sum,           // weights divided by their sum over the chosen experts + 1e-20 (0 when the sum is 0)
  softmax_topk,  // chosen by logit, softmax over the chosen logits only; `score` is not used
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
// "sigmoid renormalised, biased choice, 4 of 8 groups by their two best, scaled by 2.5"
std::string to_string(const RoutingSpec&);

// The most experts a row may have; a problem with more is refused by every backend (well_formed() in moe/problem.h).
inline constexpr std::size_t kMaxExperts = 4096;

// Chosen experts and their final weights for one token, best first. This is the reference: float32 scores, every rule stated.
//   logits [experts]; bias [experts] or empty; ids, weights [top_k].
//   Ties: the lower expert index wins. NaN counts as -inf in the choice and weighs 0; +inf counts as the largest float; -inf
//   logits are allowed and their weight is what the score makes of them, a -inf score weighing 0. When every logit is NaN or
//   -inf the ids are 0..k-1 in order and the weights 0. Ids are never repeated and always in range.
//   top_k <= experts <= kMaxExperts; groups divide the experts, and the kept ones hold at least top_k. Allocates nothing.
void route_row(const RoutingSpec&, std::span<const float> logits, std::span<const float> bias, std::span<std::int32_t> ids,
               std::span<float> weights) noexcept;

}  // namespace conclave::moe
