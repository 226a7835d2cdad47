#include "engine/logprobs.h"

#include <cmath>

namespace conclave {

LogprobReader::LogprobReader(std::int32_t vocab)
    : candidates_(static_cast<std::size_t>(vocab)), top_(static_cast<std::size_t>(vocab)) {}

void LogprobReader::read(std::span<const float> logits) noexcept {
  logits_ = logits;
  float top = -std::numeric_limits<float>::infinity();
  for (float logit : logits) top = logit > top ? logit : top;
  double sum = 0.0;
  for (float logit : logits) {
    const float e = std::exp(logit - top);
    if (e > 0.0f) sum += static_cast<double>(e);  // skips NaN
  }
  normalizer_ = static_cast<double>(top) + std::log(sum);
}

float LogprobReader::value(float logit) const noexcept {
  const auto v = static_cast<float>(static_cast<double>(logit) - normalizer_);
  return v >= kLogprobFloor ? std::min(v, 0.0f) : kLogprobFloor;  // NaN: the floor
}

std::span<const TokenLogprob> LogprobReader::top(std::int32_t count) noexcept {
  const std::span<Candidate> found = candidates_from(logits_, -std::numeric_limits<float>::infinity(), candidates_);
  const std::size_t n = std::min(static_cast<std::size_t>(count), found.size());
  sort_likeliest(found, n);
  for (std::size_t i = 0; i < n; ++i) top_[i] = {found[i].id, value(found[i].logit)};
  return std::span<const TokenLogprob>(top_).first(n);
}

}  // namespace conclave
