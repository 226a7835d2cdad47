#pragma once
// An engine around a FakeModel, and the plain loops that its answers are compared with.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "conclave/conclave.h"
#include "engine/core.h"
#include "tests/engine/fake_model.h"

namespace conclave::testing {

struct FakeEngine {
  explicit FakeEngine(std::unique_ptr<FakeModel>, EngineOptions = {}, std::unique_ptr<const Tokenizer> = nullptr,
                      std::unique_ptr<Device> = open_cpu_device(1));

  FakeModel* model;  // owned by the engine
  std::unique_ptr<Engine> engine;

  std::unique_ptr<TokenStream> submit(Request);  // must be accepted
  Error refusal(Request);                        // must be refused
  void run();                                    // until there is nothing to do
};

struct Answer {
  std::vector<std::int32_t> tokens;
  std::string text;
  std::vector<std::string> pieces;  // of each delta with a token
  std::vector<TokenLogprobs> logprobs, prompt_logprobs;
  std::optional<Done> done;
};

// Takes what is there.
void drain(TokenStream&, Answer&);
Answer read_all(TokenStream&);  // waits for the end

// f32 cache, one thread, small step and queue limits unless said otherwise.
EngineOptions small_options();

Request ids_request(std::vector<std::int32_t> ids, std::int32_t max_tokens);

// The greedy answer of fake_logits, without engine.
std::vector<std::int32_t> greedy_answer(std::vector<std::int32_t> tokens, std::int32_t max_tokens, std::int32_t vocab);

// The tokenizer of the built-in model.
std::unique_ptr<const Tokenizer> real_tokenizer();

}  // namespace conclave::testing
