#pragma once
// Log-probabilities of the model's own distribution: log softmax of the raw logits, before temperature and all else.
#include <cstdint>
#include <span>
#include <vector>

#include "conclave/request.h"
#include "engine/candidate.h"

namespace conclave {

// Owns scratch for one vocabulary; read() a row, then ask about it. A token has the same value wherever it appears.
class LogprobReader {
 public:
  explicit LogprobReader(std::int32_t vocab);

  // logits [vocab]; they are looked at until the next read().
  void read(std::span<const float> logits) noexcept;
  TokenLogprob of(std::int32_t id) const noexcept { return {id, value(logits_[static_cast<std::size_t>(id)])}; }
  // The likeliest `count`, likeliest first; valid until the next call. Fewer where fewer tokens have a logit above -inf.
  std::span<const TokenLogprob> top(std::int32_t count) noexcept;

 private:
  float value(float logit) const noexcept;

  std::span<const float> logits_;
  double normalizer_ = 0.0;  // log of the sum of exp(logit)
  std::vector<Candidate> candidates_;
  std::vector<TokenLogprob> top_;
};

}  // namespace conclave
