#include "engine/sampling_params.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "io/json.h"
#include "text/utf8.h"

namespace conclave {
namespace {

constexpr double kGreedyBelow = 1e-5;        // vLLM's
constexpr double kLowestTemperature = 1e-2;  // vLLM's: below it, logits / temperature may leave the range of float
constexpr std::size_t kMostStopStrings = 64, kLongestStopString = 1024, kMostStopTokens = 1024, kMostBiases = 1024;

// "low <= value <= high", false for NaN; `above`: low itself is excluded.
struct Range {
  double low, high;
  bool above = false;
  bool holds(double v) const { return (above ? v > low : v >= low) && v <= high; }
  std::string words() const { return fmt::format("{}{}, {}]", above ? "(" : "[", low, high); }
};

constexpr Range kTemperature{0.0, 2.0}, kTopP{0.0, 1.0, true}, kMinP{0.0, 1.0}, kRepetition{0.0, 100.0, true};
constexpr Range kPenalty{-2.0, 2.0}, kBias{-100.0, 100.0};
constexpr Range kTopK{-1.0, std::numeric_limits<std::int32_t>::max()};
constexpr Range kMaxTokens{1.0, std::numeric_limits<std::int32_t>::max()};

double checked(std::string_view field, double value, const Range& range, Problems& problems) {
  if (!range.holds(value)) problems.add(fmt::format("{} must be in {}, not {}", field, range.words(), value));
  return value;
}

void check_ids(std::string_view field, const std::vector<std::int32_t>& ids, std::int32_t vocab, Problems& problems) {
  if (ids.size() > kMostStopTokens) problems.add(fmt::format("{} may have {} entries, not {}", field, kMostStopTokens, ids.size()));
  for (std::int32_t id : ids) {
    if (id < 0 || id >= vocab) problems.add(fmt::format("{}: token id {} is not in the vocabulary [0, {})", field, id, vocab));
  }
}

void check_stop_strings(const std::vector<std::string>& stop, bool has_text, Problems& problems) {
  if (stop.empty()) return;
  if (!has_text) problems.add("stop needs a tokenizer, and none was loaded; use stop_token_ids");
  if (stop.size() > kMostStopStrings) problems.add(fmt::format("stop may have {} strings, not {}", kMostStopStrings, stop.size()));
  for (const std::string& s : stop) {
    if (s.empty()) problems.add("stop must not contain an empty string");
    if (!is_valid_utf8(s)) problems.add("stop must be UTF-8");  // so that what is cut off are whole characters
    if (s.size() > kLongestStopString) {
      problems.add(fmt::format("a string of stop may have {} bytes, not {}", kLongestStopString, s.size()));
    }
  }
}

void check_logprobs(std::string_view field, std::optional<std::int32_t> count, const SamplingLimits& limits, Problems& problems) {
  const std::int32_t most = limits.max_logprobs < 0 ? limits.vocab : std::min(limits.max_logprobs, limits.vocab);
  if (count && (*count < 0 || *count > most)) problems.add(fmt::format("{} must be in [0, {}], not {}", field, most, *count));
}

void check_logit_bias(const SamplingParams& params, std::int32_t vocab, Sampling& out, Problems& problems) {
  if (params.logit_bias.size() > kMostBiases) {
    problems.add(fmt::format("logit_bias may have {} entries, not {}", kMostBiases, params.logit_bias.size()));
    return;
  }
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0 || id >= vocab) problems.add(fmt::format("logit_bias: token id {} is not in the vocabulary [0, {})", id, vocab));
    if (!kBias.holds(bias))
      problems.add(fmt::format("logit_bias: the bias of token {} must be in {}, not {}", id, kBias.words(), bias));
    out.logit_bias.emplace_back(id, static_cast<float>(bias));
  }
}

float usable_temperature(double t) { return t < kGreedyBelow ? 0.0f : static_cast<float>(std::max(t, kLowestTemperature)); }

// A value of a file, shortened for a message.
std::string shown(const Json& value) {
  constexpr std::size_t kMost = 80;
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

// Reads one number of generation_config.json into `value`, when it is there and in range.
template <class T>
std::string_view read_default(const Json& config, const char* key, const Range& range, T& value, std::vector<std::string>& notes) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return "built in";
  if (!found->is_number() || !range.holds(found->template get<double>())) {
    notes.push_back(fmt::format("generation_config.json: {} is {} and is not used (expected a number in {})", key, shown(*found),
                                range.words()));
    return "built in";
  }
  value = static_cast<T>(found->template get<double>());
  return "generation_config.json";
}

}  // namespace

SamplingDefaults sampling_defaults(const Json& generation_config, std::vector<std::string>& notes) {
  SamplingDefaults out;
  const Json config = generation_config.is_object() ? generation_config : Json::object();
  const auto read = [&](const char* key, const Range& range, auto& value) {
    const std::string_view source = read_default(config, key, range, value, notes);
    out.shown.push_back({key, static_cast<double>(value), std::string(source)});
  };
  read("temperature", kTemperature, out.temperature);
  if (const auto sample = config.find("do_sample"); sample != config.end() && sample->is_boolean() && !sample->get<bool>()) {
    out.temperature = 0.0;
    out.shown.back() = {"temperature", 0.0, "generation_config.json: do_sample is false"};
  }
  read("top_p", kTopP, out.top_p);
  read("top_k", kTopK, out.top_k);
  read("min_p", kMinP, out.min_p);
  read("repetition_penalty", kRepetition, out.repetition_penalty);
  std::int32_t most = 0;
  if (read_default(config, "max_new_tokens", kMaxTokens, most, notes) == "generation_config.json") {
    out.max_tokens = most;
    out.shown.push_back({"max_tokens", static_cast<double>(most), "generation_config.json: max_new_tokens"});
  }
  return out;
}

Sampling check_sampling(const SamplingParams& params, const SamplingDefaults& defaults, const SamplingLimits& limits,
                        Problems& problems) {
  Sampling out;
  out.temperature =
      usable_temperature(checked("temperature", params.temperature.value_or(defaults.temperature), kTemperature, problems));
  out.top_p = static_cast<float>(checked("top_p", params.top_p.value_or(defaults.top_p), kTopP, problems));
  out.min_p = static_cast<float>(checked("min_p", params.min_p.value_or(defaults.min_p), kMinP, problems));
  out.top_k = std::max(0, static_cast<std::int32_t>(checked("top_k", params.top_k.value_or(defaults.top_k), kTopK, problems)));
  out.repetition_penalty = static_cast<float>(
      checked("repetition_penalty", params.repetition_penalty.value_or(defaults.repetition_penalty), kRepetition, problems));
  out.presence_penalty = static_cast<float>(checked("presence_penalty", params.presence_penalty, kPenalty, problems));
  out.frequency_penalty = static_cast<float>(checked("frequency_penalty", params.frequency_penalty, kPenalty, problems));
  check_logit_bias(params, limits.vocab, out, problems);
  check_stop_strings(params.stop, limits.has_text, problems);
  check_ids("stop_token_ids", params.stop_token_ids, limits.vocab, problems);
  check_logprobs("logprobs", params.logprobs, limits, problems);
  check_logprobs("prompt_logprobs", params.prompt_logprobs, limits, problems);
  if (params.max_tokens && *params.max_tokens < 0)
    problems.add(fmt::format("max_tokens must not be negative, not {}", *params.max_tokens));
  if (params.min_tokens < 0) problems.add(fmt::format("min_tokens must not be negative, not {}", params.min_tokens));
  if (params.max_tokens && params.min_tokens > *params.max_tokens) {
    problems.add(fmt::format("min_tokens ({}) must not be above max_tokens ({})", params.min_tokens, *params.max_tokens));
  }
  return out;
}

}  // namespace conclave
