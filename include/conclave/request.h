#pragma once
// What is asked of the engine and what comes back. Field names are vLLM's.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conclave/error.h"

namespace conclave {

// How tokens are chosen and when to stop. A field left out takes the model's generation_config.json, then the value named here.
struct SamplingParams {
  std::optional<double> temperature{};         // [0, 2]; below 1e-5: the most likely token, lowest id first. 1
  std::optional<double> top_p{};               // (0, 1]: the smallest set of tokens with so much probability. 1
  std::optional<double> min_p{};               // [0, 1]: at least so much of the most likely token's probability. 0
  std::optional<std::int32_t> top_k{};         // the so many most likely; 0 or -1: all. 0
  std::optional<double> repetition_penalty{};  // (0, 100]: divides positive and multiplies negative logits of seen tokens. 1
  double presence_penalty = 0.0;               // [-2, 2]: taken off the logit of every generated token
  double frequency_penalty = 0.0;              // [-2, 2]: the same, times how often it was generated
  std::vector<std::pair<std::int32_t, double>> logit_bias{};  // token id, [-100, 100]

  // The same seed, prompt and parameters give the same tokens, whatever else runs; without it every request has its own.
  std::optional<std::int64_t> seed{};

  std::optional<std::int32_t> max_tokens{};  // 0: only the prompt is computed. What is left of max_model_len
  std::int32_t min_tokens = 0;               // nothing ends the answer before
  std::vector<std::string> stop{};           // the answer ends before the first of these texts
  bool include_stop_str_in_output = false;
  std::vector<std::int32_t> stop_token_ids{};
  bool ignore_eos = false;  // goes on after the model's own end tokens, not after stop_token_ids

  // Natural logarithms of the model's own probabilities, before any of the fields above: of the chosen token and the so many
  // most likely (0: only the chosen one). Finite: never below kLogprobFloor.
  std::optional<std::int32_t> logprobs{};
  std::optional<std::int32_t> prompt_logprobs{};  // the same for the tokens of the prompt

  bool skip_special_tokens = true;  // in the text, not in the tokens
};

inline constexpr float kLogprobFloor = -9999.0f;

struct ChatMessage {
  std::string role;
  std::string content;
};

struct Request {
  // Text, token ids, or messages that the model's chat template turns into text.
  std::variant<std::string, std::vector<std::int32_t>, std::vector<ChatMessage>> prompt{};
  SamplingParams sampling{};
  bool add_special_tokens = true;  // begin-of-text and the like around a text prompt, where the tokenizer has them
};

struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0.0f;
};

// One token with its likeliest alternatives, most likely first, lowest id first among equals.
struct TokenLogprobs {
  TokenLogprob token;
  std::vector<TokenLogprob> top{};
};

// What one step added. The texts of all deltas joined are the answer, in whole UTF-8 characters: text that may begin a stop
// string or a character is held until that is decided, so `text` may be empty and may belong to earlier tokens.
struct Delta {
  std::string text{};
  std::vector<std::int32_t> tokens{};            // one; none in a delta that carries prompt_logprobs
  std::vector<TokenLogprobs> logprobs{};         // beside `tokens`, when asked for
  std::vector<TokenLogprobs> prompt_logprobs{};  // of prompt tokens 1, 2, ... (nothing precedes token 0), in order of computing
};

enum class FinishReason : std::uint8_t {
  stop,       // an end token, a stop token or a stop string
  length,     // max_tokens or the end of the context
  cancelled,  // by the caller, or because the engine stopped
  error,      // see Done::error
};
CONCLAVE_EXPORT const char* to_string(FinishReason) noexcept;  // OpenAI's words; "cancelled" is "abort", as in vLLM

struct Usage {
  std::int32_t prompt_tokens = 0;
  std::int32_t completion_tokens = 0;  // the end token counts
};

// Seconds, by a clock that never goes back. Phases that were not reached are 0.
struct Timings {
  double queue = 0.0;        // from submit() until the first step that worked on the request
  double prefill = 0.0;      // from then until the first token
  double first_token = 0.0;  // queue + prefill
  double decode = 0.0;       // from the first token to the last
};

// The end of a request; exactly one ends every stream.
struct Done {
  FinishReason reason = FinishReason::stop;
  std::variant<std::monostate, std::int32_t, std::string> stop_reason{};  // the stop token (not the main end token) or string
  Usage usage{};
  Timings timings{};
  std::optional<Error> error{};
};

}  // namespace conclave
