#pragma once
// Sampling parameters as asked for, as defaulted and as checked: from here on every field has a value that is valid.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/problems.h"
#include "conclave/model_info.h"
#include "conclave/request.h"
#include "io/json_fwd.h"

namespace conclave {

// What a request gets that does not say.
struct SamplingDefaults {
  double temperature = 1.0, top_p = 1.0, min_p = 0.0, repetition_penalty = 1.0;
  std::int32_t top_k = 0;
  std::optional<std::int32_t> max_tokens;
  std::vector<ModelInfo::SamplingDefault> shown;  // every field with its value and source
};

// From generation_config.json; values that are out of range are not used and `notes` says so. "do_sample": false makes
// greedy the default, as it is in transformers.
SamplingDefaults sampling_defaults(const Json& generation_config, std::vector<std::string>& notes);

// How the next token is chosen.
struct Sampling {
  float temperature = 1.0f;  // 0: greedy
  float top_p = 1.0f, min_p = 0.0f;
  std::int32_t top_k = 0;  // 0: all
  float repetition_penalty = 1.0f, presence_penalty = 0.0f, frequency_penalty = 0.0f;
  std::vector<std::pair<std::int32_t, float>> logit_bias;

  bool greedy() const noexcept { return temperature == 0.0f; }
  bool penalised() const noexcept { return repetition_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f; }
};

struct SamplingLimits {
  std::int32_t vocab = 0;
  std::int32_t max_logprobs = 20;  // -1: the vocabulary
  bool has_text = true;            // false: no tokenizer, so stop strings cannot be found
};

// Appends everything that is wrong with `params`, each entry naming the field, and returns the filled-in values (to be used
// only when nothing was wrong). Length limits are the engine's business.
Sampling check_sampling(const SamplingParams& params, const SamplingDefaults&, const SamplingLimits&, Problems&);

}  // namespace conclave
