#include "tests/engine/fake_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "io/mapped_file.h"

namespace conclave::testing {

FakeEngine::FakeEngine(std::unique_ptr<FakeModel> fake, EngineOptions options, std::unique_ptr<const Tokenizer> tokenizer,
                       std::unique_ptr<Device> device)
    : model(fake.get()) {
  LoadedModel loaded;
  loaded.location = "fake";
  loaded.device = std::move(device);
  loaded.memory_bytes = loaded.device->caps().memory_bytes;
  loaded.ops = make_reference_ops();
  loaded.model = std::move(fake);
  loaded.tokenizer = std::move(tokenizer);
  const StepLimits limits = decide_step_limits(options);
  engine = std::make_unique<Engine>(std::make_unique<EngineCore>(std::move(loaded), options, limits));
}

std::unique_ptr<TokenStream> FakeEngine::submit(Request request) {
  auto result = engine->submit(std::move(request));
  if (const auto* error = std::get_if<Error>(&result)) throw *error;
  return std::get<std::unique_ptr<TokenStream>>(std::move(result));
}

Error FakeEngine::refusal(Request request) {
  auto result = engine->submit(std::move(request));
  if (const auto* error = std::get_if<Error>(&result)) return *error;
  return {Errc::internal, "(the request was accepted)"};
}

void FakeEngine::run() {
  while (engine->step()) {
  }
}

namespace {

void append(Answer& answer, std::variant<Delta, Done> event) {
  if (auto* done = std::get_if<Done>(&event)) {
    answer.done = std::move(*done);
    return;
  }
  auto& delta = std::get<Delta>(event);
  answer.tokens.insert(answer.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  answer.text += delta.text;
  if (!delta.tokens.empty()) answer.pieces.push_back(delta.text);
  answer.logprobs.insert(answer.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
  answer.prompt_logprobs.insert(answer.prompt_logprobs.end(), delta.prompt_logprobs.begin(), delta.prompt_logprobs.end());
}

}  // namespace

void drain(TokenStream& stream, Answer& answer) {
  while (!answer.done) {
    auto event = stream.try_next();
    if (!event) return;
    append(answer, *std::move(event));
  }
}

Answer read_all(TokenStream& stream) {
  Answer answer;
  while (!answer.done) append(answer, stream.next());
  return answer;
}

EngineOptions small_options() {
  EngineOptions options;
  options.threads = 1;
  options.kv_cache_dtype = "f32";
  options.max_model_len = 256;
  options.max_num_seqs = 8;
  options.max_num_batched_tokens = 32;
  return options;
}

Request ids_request(std::vector<std::int32_t> ids, std::int32_t max_tokens) {
  Request request;
  request.prompt = std::move(ids);
  request.sampling.temperature = 0.0;
  request.sampling.max_tokens = max_tokens;
  return request;
}

std::vector<std::int32_t> greedy_answer(std::vector<std::int32_t> tokens, std::int32_t max_tokens, std::int32_t vocab) {
  const auto prompt = static_cast<std::ptrdiff_t>(tokens.size());
  std::vector<float> logits(static_cast<std::size_t>(vocab));
  for (std::int32_t i = 0; i < max_tokens; ++i) {
    fake_logits(tokens, logits);
    tokens.push_back(static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  }
  return {tokens.begin() + prompt, tokens.end()};
}

std::unique_ptr<const Tokenizer> real_tokenizer() {
  const auto folder = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "models" / "tinymoe" / "nvfp4";
  return Tokenizer::from_json(MappedFile::open(folder / "tokenizer.json")->text());
}

}  // namespace conclave::testing
