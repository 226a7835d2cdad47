#include "engine/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/in_quotes.h"
#include "base/math.h"
#include "base/nearest.h"
#include "base/problems.h"

namespace conclave {
namespace {

constexpr std::int32_t kUsualSequences = 32, kUsualRows = 512;
// Rows of logits are as wide as the vocabulary, so prompts whose every token is scored go in smaller chunks.
constexpr std::int32_t kScoredRows = 64;
constexpr std::int32_t kMostRows = 1 << 20;  // of one step; far more than any machine computes at once
constexpr std::int64_t kMemoryShare = 4;     // the cache may have one part in so many

// Recurrent states may have half of the cache's `memory`, unless the number of sequences was asked for.
std::int32_t sequences_that_fit(const EngineOptions& o, const StepLimits& step, std::int64_t state_bytes, std::int64_t memory,
                                std::vector<std::string>& notes) {
  if (o.max_num_seqs > 0 || state_bytes == 0) return step.max_num_seqs;
  const std::int64_t fit = std::clamp<std::int64_t>(memory / 2 / state_bytes, 1, step.max_num_seqs);
  if (fit < step.max_num_seqs)
    notes.push_back(fmt::format("max_num_seqs is {} instead of {}: each sequence has {} bytes of recurrent state in the cache", fit,
                                step.max_num_seqs, state_bytes));
  return static_cast<std::int32_t>(fit);
}

// An FP8 cache was asked for; what its scales are is the checkpoint's matter.
void note_unscaled_layers(const KvSpec& spec, std::vector<std::string>& notes) {
  std::int32_t unscaled = 0;
  for (std::int32_t layer = 0; layer < spec.layers; ++layer) {
    const auto is_one = [&](const std::vector<float>& scales) {
      return scales.empty() || scales[static_cast<std::size_t>(layer)] == 1.0f;
    };
    if (is_one(spec.k_scales) && is_one(spec.v_scales)) ++unscaled;
  }
  if (unscaled > 0)
    notes.push_back(
        fmt::format("the checkpoint publishes no scales but 1 for {} of {} layers of the fp8 KV cache: their keys and values are "
                    "rounded to E4M3 as they are, and what is beyond 448 becomes 448, so answers may be worse than with bf16",
                    unscaled, spec.layers));
}

}  // namespace

StepLimits decide_step_limits(const EngineOptions& o) {
  Problems problems;
  if (o.threads < 0) problems.add(fmt::format("threads must not be negative, not {}", o.threads));
  if (o.max_model_len < 0) problems.add(fmt::format("max_model_len must not be negative, not {}", o.max_model_len));
  if (o.max_num_seqs < 0) problems.add(fmt::format("max_num_seqs must not be negative, not {}", o.max_num_seqs));
  if (o.max_num_batched_tokens < 0) {
    problems.add(fmt::format("max_num_batched_tokens must not be negative, not {}", o.max_num_batched_tokens));
  }
  for (const auto& [name, value] :
       {std::pair("max_num_seqs", o.max_num_seqs), std::pair("max_num_batched_tokens", o.max_num_batched_tokens)}) {
    if (value > kMostRows) problems.add(fmt::format("{} must be at most {}, not {}", name, kMostRows, value));
  }
  if (o.max_num_batched_tokens > 0 && o.max_num_batched_tokens < o.max_num_seqs) {
    problems.add(
        fmt::format("max_num_batched_tokens ({}) must be at least max_num_seqs ({}): every running sequence may need a row",
                    o.max_num_batched_tokens, o.max_num_seqs));
  }
  if (o.kv_cache_tokens < 0) problems.add(fmt::format("kv_cache_tokens must not be negative, not {}", o.kv_cache_tokens));
  if (o.kv_cache_bytes < 0) problems.add(fmt::format("kv_cache_bytes must not be negative, not {}", o.kv_cache_bytes));
  if (o.kv_cache_tokens > 0 && o.kv_cache_bytes > 0)
    problems.add("kv_cache_tokens and kv_cache_bytes say the same thing: give one");
  if (o.skip_tokenizer_init && !o.chat_template.empty())
    problems.add("chat_template needs the tokenizer that skip_tokenizer_init leaves out: give one of the two");
  if (o.max_waiting < 1) problems.add(fmt::format("max_waiting must be at least 1, not {}", o.max_waiting));
  if (o.max_logprobs < -1) problems.add(fmt::format("max_logprobs must be -1 or more, not {}", o.max_logprobs));
  problems.throw_if_any(Errc::bad_input, "engine options");

  StepLimits out;
  const std::int32_t rows = o.max_num_batched_tokens;
  out.max_num_seqs = o.max_num_seqs > 0 ? o.max_num_seqs : rows > 0 ? std::min(rows, kUsualSequences) : kUsualSequences;
  out.max_num_batched_tokens = rows > 0 ? rows : std::max(kUsualRows, out.max_num_seqs);
  out.max_logits_rows = std::max(out.max_num_seqs, std::min(kScoredRows, out.max_num_batched_tokens));
  return out;
}

DType kv_cache_dtype(const EngineOptions& o) {
  static constexpr std::array<std::pair<std::string_view, DType>, 6> kTypes{{{"bf16", DType::bf16},
                                                                             {"bfloat16", DType::bf16},
                                                                             {"f32", DType::f32},
                                                                             {"float32", DType::f32},
                                                                             {"fp8", DType::f8e4m3},
                                                                             {"fp8_e4m3", DType::f8e4m3}}};
  if (o.kv_cache_dtype == "auto") return o.reference ? DType::f32 : DType::bf16;
  std::vector<std::string_view> known{"auto"};
  for (const auto& [name, dtype] : kTypes) {
    if (name == o.kv_cache_dtype) return dtype;
    known.push_back(name);
  }
  throw Error(Errc::bad_input, fmt::format("kv_cache_dtype {} is not known{}; there are auto, bf16, f32 and fp8",
                                           in_quotes(o.kv_cache_dtype), did_you_mean(o.kv_cache_dtype, known)));
}

CacheLimits decide_cache_limits(const EngineOptions& o, const StepLimits& step, const KvSpec& spec, std::int32_t max_positions,
                                std::int64_t memory_bytes, std::vector<std::string>& notes) {
  CacheLimits out;
  out.spec = spec;
  out.spec.dtype = kv_cache_dtype(o);
  if (out.spec.dtype == DType::f8e4m3) note_unscaled_layers(out.spec, notes);
  const std::int64_t page_bytes = out.spec.page_bytes();
  if (o.max_model_len > max_positions) {
    throw Error(Errc::bad_input, fmt::format("max_model_len is {}, and this model's context has {} tokens: ask for at most these",
                                             o.max_model_len, max_positions));
  }
  const std::int32_t wanted = o.max_model_len > 0 ? o.max_model_len : max_positions;
  const std::int64_t one_sequence = ceil_div<std::int64_t>(wanted, spec.page_tokens);
  const std::int64_t memory = o.kv_cache_bytes > 0 ? o.kv_cache_bytes : memory_bytes / kMemoryShare;
  const std::int64_t state_bytes = spec.recurrent.sequence_bytes();
  out.sequences = sequences_that_fit(o, step, state_bytes, memory, notes);
  const std::int64_t fit = std::max<std::int64_t>(0, memory - out.sequences * state_bytes) / page_bytes;
  std::int64_t pages = o.kv_cache_bytes > 0 ? fit : std::min(one_sequence * out.sequences, fit);
  if (o.kv_cache_tokens > 0) pages = ceil_div<std::int64_t>(o.kv_cache_tokens, spec.page_tokens);
  pages = std::min<std::int64_t>(pages, std::numeric_limits<std::int32_t>::max() / spec.page_tokens);
  const std::int64_t holds = pages * spec.page_tokens;
  if (pages < 1 || (o.max_model_len > 0 && holds < o.max_model_len)) {
    const std::string states =
        state_bytes == 0 ? ""
                         : fmt::format(" beside the recurrent states of {} sequences ({} bytes each)", out.sequences, state_bytes);
    throw Error(
        Errc::bad_input,
        fmt::format("the KV cache holds {} tokens ({} bytes each){}, fewer than max_model_len ({}): give it more with "
                    "kv_cache_bytes or kv_cache_tokens, or ask for a shorter max_model_len{}",
                    holds, page_bytes / spec.page_tokens, states, wanted, state_bytes == 0 ? "" : " or fewer max_num_seqs"));
  }
  out.pages = static_cast<std::int32_t>(pages);
  out.max_model_len = static_cast<std::int32_t>(std::min<std::int64_t>(wanted, holds));
  if (out.max_model_len < wanted) {
    notes.push_back(
        fmt::format("max_model_len is {} instead of the model's {}: that is what the KV cache holds", out.max_model_len, wanted));
  }
  return out;
}

}  // namespace conclave
