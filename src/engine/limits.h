#pragma once
// How many sequences, rows, tokens and pages: what the options ask for, what the model can and what the memory holds.
// Pure functions of numbers.
#include <cstdint>
#include <string>
#include <vector>

#include "conclave/engine.h"
#include "nn/kv_cache.h"

namespace conclave {

struct StepLimits {
  std::int32_t max_num_seqs = 0;
  std::int32_t max_num_batched_tokens = 0;  // >= max_num_seqs
  std::int32_t max_logits_rows = 0;         // >= max_num_seqs
};

// Needs no model. Throws Error{bad_input} with everything that is wrong.
StepLimits decide_step_limits(const EngineOptions&);

struct CacheLimits {
  KvSpec spec;
  std::int32_t pages = 0;
  std::int32_t sequences = 0;  // that run at once
  std::int32_t max_model_len = 0;
};

// `max_positions` and `spec` are the model's; `memory_bytes` is what this process may still take. Recurrent states come out of the cache's
// memory before pages do. A context or a number of sequences that was not asked for is lowered to what the cache holds, and `notes`
// says so, as it does of an FP8 cache without scales. Throws Error{bad_input} when one that was asked for cannot be had.
CacheLimits decide_cache_limits(const EngineOptions&, const StepLimits&, const KvSpec& spec, std::int32_t max_positions,
                                std::int64_t memory_bytes, std::vector<std::string>& notes);

// "auto": bf16, f32 when everything is computed by the reference. Throws Error{bad_input} for a name that is not known.
DType kv_cache_dtype(const EngineOptions&);

}  // namespace conclave
