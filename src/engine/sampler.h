#pragma once
// Chooses the next token of one sequence. The order is vLLM's: logit bias and bans, penalties, temperature, min-p, top-k, top-p.
#include <cstdint>
#include <span>
#include <vector>

#include "engine/candidate.h"
#include "engine/sampling_params.h"
#include "engine/token_counts.h"

namespace conclave {

struct SamplerInput {
  std::span<const float> logits;  // [vocab], as the model gave them
  const Sampling& sampling;
  const TokenCounts& counts;             // used when sampling.penalised()
  std::span<const std::int32_t> banned;  // ids that may not be chosen now
  std::uint64_t seed;
  std::uint64_t position;  // of the token among the generated ones
};

// Owns scratch for one vocabulary, so that sampling allocates nothing. The result depends on the input alone.
class Sampler {
 public:
  static constexpr std::int32_t kNone = -1;

  explicit Sampler(std::int32_t vocab);
  // A token id; kNone when no token has a logit above -inf (NaN counts as -inf).
  std::int32_t sample(const SamplerInput&) noexcept;

 private:
  std::span<const float> adjust(const SamplerInput&) noexcept;
  std::int32_t draw(std::span<const float> logits, const Sampling&, double uniform) noexcept;

  std::vector<float> adjusted_;        // [vocab]
  std::vector<Candidate> candidates_;  // [vocab]
};

}  // namespace conclave
