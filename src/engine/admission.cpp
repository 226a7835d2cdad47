#include "engine/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/math.h"

namespace conclave {
namespace {

std::vector<std::int32_t> prompt_ids(Request& request, const LoadedModel& loaded) {
  if (auto* ids = std::get_if<std::vector<std::int32_t>>(&request.prompt)) return std::move(*ids);
  const Tokenizer& tokenizer = tokenizer_of(loaded);
  if (const auto* text = std::get_if<std::string>(&request.prompt)) return tokenizer.encode(*text, request.add_special_tokens);
  const std::string rendered = chat_prompt_of(loaded).render(std::get<std::vector<ChatMessage>>(request.prompt));
  return tokenizer.encode(rendered, false);  // the template writes its special tokens itself
}

void check_prompt(const std::vector<std::int32_t>& ids, std::int32_t vocab, Problems& problems) {
  if (ids.empty()) problems.add("prompt: at least one token is needed, and there is none");
  for (std::int32_t id : ids) {
    if (id < 0 || id >= vocab) problems.add(fmt::format("prompt: token id {} is not in the vocabulary [0, {})", id, vocab));
  }
}

// Tokens the answer may have; what does not fit is a problem.
std::int32_t answer_length(const SamplingParams& params, const AdmissionRules& rules, std::size_t prompt, Problems& problems) {
  const auto room = static_cast<std::int64_t>(rules.max_model_len) - static_cast<std::int64_t>(prompt);
  const std::int64_t least = std::max(params.min_tokens, params.max_tokens.value_or(1));
  if (room < least) {
    problems.add(fmt::format("prompt ({} tokens) and answer ({} tokens{}) must fit into max_model_len ({})", prompt, least,
                             params.max_tokens ? "" : " at least", rules.max_model_len));
    return 0;
  }
  const std::int64_t usual = std::max<std::int64_t>(rules.defaults.max_tokens.value_or(rules.max_model_len), params.min_tokens);
  return static_cast<std::int32_t>(params.max_tokens ? *params.max_tokens : std::min(room, usual));
}

void set_ends(Sequence& s, const SamplingParams& params, const ModelConfig& config) {
  if (!params.ignore_eos) {
    s.end_ids = config.eos_ids;
    std::erase_if(s.end_ids, [&](std::int32_t id) { return id < 0 || id >= config.vocab; });  // can never come
    s.silent_ends = s.end_ids.empty() ? 0 : 1;
  }
  s.end_ids.insert(s.end_ids.end(), params.stop_token_ids.begin(), params.stop_token_ids.end());
  s.keep_end_text = params.include_stop_str_in_output;
}

void count_prompt(Sequence& s, std::int32_t vocab) {
  if (!s.sampling.penalised()) return;
  s.counts = TokenCounts(vocab, s.prompt_tokens + s.max_tokens);
  for (std::int32_t id : s.tokens) s.counts.add_prompt(id);
}

std::unique_ptr<Sequence> build(std::vector<std::int32_t> ids, const SamplingParams& params, const AdmissionRules& rules,
                                Sampling sampling, std::int32_t max_tokens, std::uint64_t seed,
                                std::shared_ptr<OutputQueue> queue) {
  auto s = std::make_unique<Sequence>(OutputWriter(std::move(queue), rules.loaded.tokenizer.get(), ids, params));
  const ModelConfig& config = rules.loaded.model->config();
  s->prompt_tokens = static_cast<std::int32_t>(ids.size());
  s->max_tokens = max_tokens;
  s->min_tokens = params.min_tokens;
  s->tokens = std::move(ids);
  s->tokens.reserve(static_cast<std::size_t>(s->prompt_tokens + max_tokens));
  s->pages.reserve(static_cast<std::size_t>(ceil_div(s->prompt_tokens + max_tokens, rules.page_tokens)));
  s->sampling = std::move(sampling);
  s->seed = params.seed ? static_cast<std::uint64_t>(*params.seed) : seed;
  s->logprobs = params.logprobs.value_or(-1);
  s->prompt_logprobs = params.prompt_logprobs.value_or(-1);
  set_ends(*s, params, config);
  count_prompt(*s, config.vocab);
  s->submitted = Clock::now();
  return s;
}

}  // namespace

const Tokenizer& tokenizer_of(const LoadedModel& loaded) {
  if (loaded.tokenizer) return *loaded.tokenizer;
  throw Error(Errc::unsupported, "text needs a tokenizer, and none was loaded (skip_tokenizer_init); use token ids");
}

const ChatPrompt& chat_prompt_of(const LoadedModel& loaded) {
  if (loaded.chat_prompt) return *loaded.chat_prompt;
  throw Error(Errc::unsupported, fmt::format("{}: messages need a chat template, and there is none; give one with --chat-template "
                                             "(chat_template), or a prompt as text",
                                             loaded.location));
}

std::variant<std::unique_ptr<Sequence>, Error> make_sequence(Request request, const AdmissionRules& rules, std::uint64_t seed,
                                                             std::shared_ptr<OutputQueue> queue) try {
  const std::int32_t vocab = rules.loaded.model->config().vocab;
  std::vector<std::int32_t> ids = prompt_ids(request, rules.loaded);
  Problems problems;
  check_prompt(ids, vocab, problems);
  Sampling sampling =
      check_sampling(request.sampling, rules.defaults, {vocab, rules.max_logprobs, rules.loaded.tokenizer != nullptr}, problems);
  const std::int32_t max_tokens = answer_length(request.sampling, rules, ids.size(), problems);
  problems.throw_if_any(Errc::bad_input, "request");
  return build(std::move(ids), request.sampling, rules, std::move(sampling), max_tokens, seed, std::move(queue));
} catch (const Error& e) {
  return e;
}

}  // namespace conclave
