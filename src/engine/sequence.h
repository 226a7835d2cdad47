#pragma once
// One request at work: its tokens, its pages, how it samples and where its output goes. Everything that grows is reserved when
// it is made.
#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/output_writer.h"
#include "engine/sampling_params.h"
#include "engine/token_counts.h"

namespace conclave {

using Clock = std::chrono::steady_clock;

struct Sequence {
  static constexpr std::int32_t kNoSlot = -1;

  std::vector<std::int32_t> tokens;  // prompt, then answer
  std::int32_t prompt_tokens = 0;
  std::int32_t max_tokens = 0;  // of the answer
  std::int32_t min_tokens = 0;
  std::int32_t cached = 0;  // the first so many tokens are in the cache
  std::vector<std::int32_t> pages;
  std::int32_t slot = kNoSlot;  // its recurrent state in the cache, while it runs

  Sampling sampling;
  std::uint64_t seed = 0;
  TokenCounts counts;
  std::vector<std::int32_t> end_ids;  // tokens that end the answer; the first `silent_ends` without being its stop_reason
  std::int32_t silent_ends = 0;
  bool keep_end_text = false;  // the text of the token that ended it is text

  std::int32_t logprobs = -1, prompt_logprobs = -1;  // -1: not asked for
  std::int32_t scored = 1;                           // prompt tokens before this one need no log-probability any more

  OutputWriter writer;
  bool begun = false;  // has run, if only for a while
  bool ended = false;  // its Done is sent
  Clock::time_point submitted, started, first_token, last_token;

  explicit Sequence(OutputWriter w) : writer(std::move(w)) {}
  std::int32_t known() const noexcept { return static_cast<std::int32_t>(tokens.size()); }
  std::int32_t generated() const noexcept { return known() - prompt_tokens; }
  // Rows computed now are scored as well as sampled from.
  bool scores_prompt() const noexcept { return prompt_logprobs >= 0 && scored < prompt_tokens; }
};

}  // namespace conclave
