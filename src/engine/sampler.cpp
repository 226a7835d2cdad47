#include "engine/sampler.h"

#include <cmath>

#include "engine/philox.h"

namespace conclave {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Candidate likeliest(std::span<const float> logits) {
  Candidate best{-kInfinity, Sampler::kNone};
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > best.logit) best = {logits[i], static_cast<std::int32_t>(i)};
  }
  return best;
}

// Presence and frequency look at the generated tokens, repetition at the prompt as well (Keskar et al., CTRL, section 4.1).
void penalise(const Sampling& s, const TokenCounts& counts, std::span<float> logits) {
  for (std::int32_t id : counts.seen()) {
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit > 0.0f ? logit / s.repetition_penalty : logit * s.repetition_penalty;
    const auto times = static_cast<float>(counts.generated(id));
    if (times > 0.0f) logit -= s.frequency_penalty * times + s.presence_penalty;
  }
}

// exp((logit - top) / temperature): probabilities up to their common factor.
struct Weight {
  float top, inverse_temperature;
  double operator()(const Candidate& c) const { return static_cast<double>(std::exp((c.logit - top) * inverse_temperature)); }
};

double total_weight(std::span<const Candidate> candidates, const Weight& weight) {
  double sum = 0.0;
  for (const Candidate& c : candidates) sum += weight(c);
  return sum;
}

// The shortest run of the likeliest whose weight reaches `mass`, sorted; at least one. The first `sorted` are in order already.
std::span<Candidate> nucleus(std::span<Candidate> candidates, std::size_t sorted, double mass, const Weight& weight) {
  double sum = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i == sorted) {
      const std::size_t more = std::max<std::size_t>(64, 3 * sorted);
      sort_likeliest(candidates.subspan(sorted), more);
      sorted += more;
    }
    sum += weight(candidates[i]);
    if (sum >= mass) return candidates.first(i + 1);
  }
  return candidates;
}

}  // namespace

Sampler::Sampler(std::int32_t vocab) : adjusted_(static_cast<std::size_t>(vocab)), candidates_(static_cast<std::size_t>(vocab)) {}

std::int32_t Sampler::sample(const SamplerInput& input) noexcept {
  const std::span<const float> logits = adjust(input);
  if (input.sampling.greedy()) return likeliest(logits).id;
  return draw(logits, input.sampling, uniform_draw(input.seed, input.position));
}

std::span<const float> Sampler::adjust(const SamplerInput& input) noexcept {
  const Sampling& s = input.sampling;
  const bool penalised = s.penalised() && input.counts.enabled();
  if (s.logit_bias.empty() && input.banned.empty() && !penalised) return input.logits;
  std::copy(input.logits.begin(), input.logits.end(), adjusted_.begin());
  for (const auto& [id, bias] : s.logit_bias) adjusted_[static_cast<std::size_t>(id)] += bias;
  for (std::int32_t id : input.banned) adjusted_[static_cast<std::size_t>(id)] = -kInfinity;
  if (penalised) penalise(s, input.counts, adjusted_);
  return adjusted_;
}

std::int32_t Sampler::draw(std::span<const float> logits, const Sampling& s, double uniform) noexcept {
  const Candidate top = likeliest(logits);
  if (top.id == kNone || top.logit == kInfinity) return top.id;  // nothing to choose from; nothing beside it has probability
  const Weight weight{top.logit, 1.0f / s.temperature};
  const float least = s.min_p > 0.0f ? top.logit + std::log(s.min_p) * s.temperature : -kInfinity;
  std::span<Candidate> kept = candidates_from(logits, least, candidates_);
  std::size_t sorted = 0;
  if (s.top_k > 0 && static_cast<std::size_t>(s.top_k) < kept.size()) {
    sorted = static_cast<std::size_t>(s.top_k);
    sort_likeliest(kept, sorted);
    kept = kept.first(sorted);
  }
  double mass = total_weight(kept, weight);
  if (s.top_p < 1.0f) {
    kept = nucleus(kept, sorted, static_cast<double>(s.top_p) * mass, weight);
    mass = total_weight(kept, weight);
  }
  const double target = uniform * mass;
  double sum = 0.0;
  for (const Candidate& c : kept) {
    sum += weight(c);
    if (sum > target) return c.id;
  }
  return kept.back().id;
}

}  // namespace conclave
