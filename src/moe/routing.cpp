#include "moe/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/check.h"

namespace conclave::moe {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr float kHighest = std::numeric_limits<float>::max();

using Row = std::array<float, kMaxExperts>;

// +inf counts as the largest float, so that every formula stays finite; NaN stays.
float usable(float logit) { return std::min(logit, kHighest); }

float score_of(Score score, double z) {
  switch (score) {
    case Score::softmax: break;  // needs the whole row: softmax_scores()
    case Score::sigmoid: return static_cast<float>(1.0 / (1.0 + std::exp(-z)));
    case Score::sqrt_softplus: return static_cast<float>(std::sqrt(std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)))));
    case Score::identity: return static_cast<float>(z);
  }
  return 0.0f;
}

// `largest` is the largest logit that is not NaN, and above -inf.
void softmax_scores(std::span<const float> logits, float largest, std::span<float> scores) {
  std::array<double, kMaxExperts> mass;
  double sum = 0.0;
  for (std::size_t e = 0; e < logits.size(); ++e) {
    mass[e] = std::exp(static_cast<double>(usable(logits[e])) - largest);
    if (!std::isnan(mass[e])) sum += mass[e];
  }
  for (std::size_t e = 0; e < logits.size(); ++e) scores[e] = static_cast<float>(mass[e] / sum);
}

// The indices of the ids.size() largest keys among [0, keys.size()), largest first; of equals the lower index comes first.
void select_largest(std::span<const float> keys, std::span<std::int32_t> ids) {
  std::size_t held = 0;
  for (std::size_t e = 0; e < keys.size(); ++e) {
    const float key = keys[e];
    if (held == ids.size() && !(key > keys[static_cast<std::size_t>(ids[held - 1])])) continue;
    std::size_t at = held < ids.size() ? held++ : held - 1;
    for (; at > 0 && key > keys[static_cast<std::size_t>(ids[at - 1])]; --at) ids[at] = ids[at - 1];
    ids[at] = static_cast<std::int32_t>(e);
  }
}

float group_score(GroupScore kind, std::span<const float> keys) {
  float best = kLowest, second = kLowest;
  for (const float key : keys) {
    if (key > best) {
      second = best;
      best = key;
    } else if (key > second) {
      second = key;
    }
  }
  return kind == GroupScore::best || keys.size() == 1 ? best : best + second;
}

// Chooses ids by keys, within the best groups where there are groups.
void choose(const RoutingSpec& spec, std::span<const float> keys, std::span<std::int32_t> ids) {
  if (spec.groups <= 1) return select_largest(keys, ids);
  const auto groups = static_cast<std::size_t>(spec.groups), kept = static_cast<std::size_t>(spec.top_groups);
  const std::size_t size = keys.size() / groups;
  CONCLAVE_CHECK(keys.size() % groups == 0 && kept <= groups && ids.size() <= kept * size);

  Row scores;
  for (std::size_t g = 0; g < groups; ++g) scores[g] = group_score(spec.group_score, keys.subspan(g * size, size));
  std::array<std::int32_t, kMaxExperts> order;
  const std::span<std::int32_t> best(order.data(), kept);
  select_largest({scores.data(), groups}, best);
  std::sort(best.begin(), best.end());

  // The kept groups side by side, in order of index: positions there stand for experts here.
  Row candidates;
  for (std::size_t i = 0; i < kept; ++i)
    std::copy_n(keys.begin() + best[i] * static_cast<std::ptrdiff_t>(size), size,
                candidates.begin() + static_cast<std::ptrdiff_t>(i * size));
  select_largest({candidates.data(), kept * size}, ids);
  for (std::int32_t& id : ids) {
    const auto position = static_cast<std::size_t>(id);
    id = best[position / size] * static_cast<std::int32_t>(size) + static_cast<std::int32_t>(position % size);
  }
}

// Softmax over the chosen logits only. NaN weighs 0.
void softmax_of_chosen(std::span<const float> logits, std::span<const std::int32_t> ids, std::span<float> weights) {
  float largest = kLowest;
  for (const std::int32_t id : ids) largest = std::fmax(largest, usable(logits[static_cast<std::size_t>(id)]));
  double sum = 0.0;
  const auto mass = [&](std::int32_t id) {
    const float z = logits[static_cast<std::size_t>(id)];
    return std::isnan(z) || largest == kLowest ? 0.0 : std::exp(static_cast<double>(usable(z)) - largest);
  };
  for (const std::int32_t id : ids) sum += mass(id);
  for (std::size_t j = 0; j < ids.size(); ++j) weights[j] = sum > 0.0 ? static_cast<float>(mass(ids[j]) / sum) : 0.0f;
}

// The factor of Renorm::sum. 1e-20 is part of the published formulas of sigmoid routing and too small to show elsewhere.
double renormalisation(std::span<const float> weights) {
  double sum = 0.0;
  for (const float w : weights) sum += w;
  return sum == 0.0 ? 0.0 : 1.0 / (sum + 1e-20);
}

}  // namespace

void route_row(const RoutingSpec& spec, std::span<const float> logits, std::span<const float> bias, std::span<std::int32_t> ids,
               std::span<float> weights) noexcept {
  const std::size_t experts = logits.size();
  CONCLAVE_CHECK(experts <= kMaxExperts && ids.size() <= experts && weights.size() == ids.size());
  CONCLAVE_CHECK(bias.empty() ? !spec.selection_bias : bias.size() == experts);

  float largest = kLowest;
  for (const float z : logits) largest = std::fmax(largest, usable(z));
  if (largest == kLowest) {  // nothing to choose by
    for (std::size_t j = 0; j < ids.size(); ++j) ids[j] = static_cast<std::int32_t>(j);
    std::fill(weights.begin(), weights.end(), 0.0f);
    return;
  }

  Row scores;
  if (spec.renorm == Renorm::softmax_topk) {
    std::transform(logits.begin(), logits.end(), scores.begin(), usable);
  } else if (spec.score == Score::softmax) {
    softmax_scores(logits, largest, {scores.data(), experts});
  } else {
    std::transform(logits.begin(), logits.end(), scores.begin(), [&](float z) { return score_of(spec.score, usable(z)); });
  }

  Row keys;
  for (std::size_t e = 0; e < experts; ++e) {
    const float key = (spec.select_by_logit ? usable(logits[e]) : scores[e]) + (spec.selection_bias ? bias[e] : 0.0f);
    keys[e] = std::isnan(key) ? kLowest : key;
  }
  choose(spec, {keys.data(), experts}, ids);

  if (spec.renorm == Renorm::softmax_topk) {
    softmax_of_chosen(logits, ids, weights);
  } else {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const float score = scores[static_cast<std::size_t>(ids[j])];
      weights[j] = std::isnan(score) || score == kLowest ? 0.0f : score;
    }
  }
  const double factor = spec.scale * (spec.renorm == Renorm::sum ? renormalisation(weights) : 1.0);
  for (float& w : weights) w = static_cast<float>(w * factor);
}

std::string to_string(const RoutingSpec& spec) {
  constexpr std::string_view kScores[] = {"softmax", "sigmoid", "sqrt softplus", "logits"};
  constexpr std::string_view kRenorms[] = {"", " renormalised", ""};
  std::string out = spec.renorm == Renorm::softmax_topk ? "softmax of the chosen"
                                                        : fmt::format("{}{}", kScores[static_cast<std::size_t>(spec.score)],
                                                                      kRenorms[static_cast<std::size_t>(spec.renorm)]);
  if (spec.select_by_logit) out += ", chosen by logit";
  if (spec.selection_bias) out += ", biased choice";
  if (spec.groups > 1)
    out += fmt::format(", {} of {} groups by {}", spec.top_groups, spec.groups,
                       spec.group_score == GroupScore::best ? "their best" : "their two best");
  if (spec.scale != 1.0f) out += fmt::format(", scaled by {}", spec.scale);
  if (spec.weight_on_input) out += ", weight on input";
  return out;
}

}  // namespace conclave::moe
