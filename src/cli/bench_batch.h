#pragma once
// One batch of random prompts through an engine, timed step by step.
#include <cstdint>
#include <vector>

#include "conclave/engine.h"

namespace conclave::cli {

struct BatchShape {
  std::int32_t prompts = 1;
  std::int32_t input_len = 32;    // tokens of each prompt
  std::int32_t output_len = 128;  // tokens of each answer; the first belongs to the prompt's pass
};

struct BatchTimes {
  double whole = 0.0;               // seconds from submission to the last token
  double first_tokens = 0.0;        // until every prompt has its first token
  std::vector<double> first_token;  // of each request, its queueing included
  // Steps in which all prompts of the batch got a token and nothing else was computed; seconds in all.
  std::int64_t decode_steps = 0;
  double decode = 0.0;
};

// Prompts are random token ids below `vocab` that depend on `seed` alone; answers are sampled at temperature 1 and do not end
// early, so that rows differ as those of real requests do. Throws what a request ends with, and Error{cancelled} after an
// interrupt.
BatchTimes run_batch(Engine&, const BatchShape&, std::uint64_t seed);

}  // namespace conclave::cli
