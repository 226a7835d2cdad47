// The engine as users open it, with the built-in model.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/json.h"
#include "tests/engine/fake_engine.h"
#include "tests/sanitized.h"

namespace conclave::testing {
namespace {

const std::filesystem::path kSource = CONCLAVE_SOURCE_DIR;

std::vector<Json> goldens(std::size_t count) {
  std::vector<Json> rows;
  std::ifstream in(kSource / "tests" / "data" / "model" / "goldens_50.jsonl");
  for (std::string line; rows.size() < count && std::getline(in, line);) rows.push_back(parse_json(line, "goldens_50.jsonl"));
  return rows;
}

Answer answer(Engine& engine, Request request) {
  auto result = engine.submit(std::move(request));
  if (const auto* error = std::get_if<Error>(&result)) throw *error;
  while (engine.step()) {
  }
  return read_all(*std::get<std::unique_ptr<TokenStream>>(result));
}

std::string refusal(const EngineOptions& options) {
  try {
    Engine::open(options);
  } catch (const Error& e) {
    return e.what();
  }
  return "(opened)";
}

TEST(EngineOpen, TheBuiltInModelIsDescribed) {
  const auto engine = Engine::open({});
  const ModelInfo& info = engine->info();
  EXPECT_EQ(info.architecture, "Qwen3MoeForCausalLM");
  EXPECT_EQ(info.vocab, 4096);
  EXPECT_EQ(info.max_model_len, 2048);
  EXPECT_EQ(info.kv_cache_dtype, "bf16");
  EXPECT_EQ(info.kv_cache_bytes, info.kv_cache_tokens * 4096);
  EXPECT_EQ(info.eos_ids, (std::vector<std::int32_t>{2, 0}));
  EXPECT_TRUE(info.has_tokenizer);
  EXPECT_TRUE(info.has_chat_template);
  EXPECT_FALSE(info.decisions.empty());
  EXPECT_GT(info.load_seconds, 0.0);
  ASSERT_FALSE(info.sampling_defaults.empty());
  EXPECT_EQ(info.sampling_defaults[0].value, 0.0);
  EXPECT_EQ(info.sampling_defaults[0].source, "generation_config.json: do_sample is false");
}

// Of a prompt and its answer together the prompt is what transformers rendered and tokenized.
TEST(EngineOpen, PromptsAreTokenizedAsTransformersDid) {
  const auto engine = Engine::open({});
  for (const Json& golden : goldens(50)) {
    EXPECT_EQ(engine->tokenize(golden["prompt"].get<std::string>()), golden["prompt_ids"].get<std::vector<std::int32_t>>());
  }
  const std::vector<ChatMessage> messages{{"system", "Be brief."}, {"user", "Two and two?"}};
  const std::string rendered =
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nTwo and two?<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(engine->render_chat(messages), rendered);
  EXPECT_EQ(engine->render_chat_json(
                R"({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Two and two?"}]})"),
            rendered);
  EXPECT_THROW(engine->render_chat_json("{}"), Error);
  EXPECT_THROW(engine->render_chat_json("[1"), Error);
}

TEST(EngineOpen, AloneAndInABatchOfEightTheTokensAreTheSame) {
  EngineOptions options;
  options.max_num_seqs = 8;
  const auto engine = Engine::open(options);
  std::vector<Request> requests;
  for (const Json& golden : goldens(kSanitized ? 9 : 16)) {
    Request r;
    r.prompt = golden["prompt_ids"].get<std::vector<std::int32_t>>();
    r.sampling.max_tokens = kSanitized ? 8 : 120;
    r.sampling.logprobs = 3;
    if (requests.size() % 2 == 1) {
      r.sampling.temperature = 1.0;
      r.sampling.seed = 5;
    }
    requests.push_back(r);
  }
  std::vector<Answer> alone;
  for (const Request& r : requests) alone.push_back(answer(*engine, r));
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (const Request& r : requests) streams.push_back(std::get<std::unique_ptr<TokenStream>>(engine->submit(r)));
  while (engine->step()) {
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Answer together = read_all(*streams[i]);
    EXPECT_EQ(together.tokens, alone[i].tokens) << i;
    EXPECT_EQ(together.text, alone[i].text) << i;
    ASSERT_EQ(together.logprobs.size(), alone[i].logprobs.size());
    for (std::size_t t = 0; t < together.logprobs.size(); ++t) {
      EXPECT_EQ(together.logprobs[t].token.logprob, alone[i].logprobs[t].token.logprob) << i << " token " << t;
    }
  }
}

TEST(EngineOpen, AWordProblemIsAnswered) {
  const auto engine = Engine::open({});
  Request r;
  r.prompt = std::vector<ChatMessage>{
      {"user", "Ella has 5 bags with 6 oranges in each bag. She uses 14 oranges to make juice. How many oranges are left?"}};
  const Answer a = answer(*engine, r);
  EXPECT_NE(a.text.find("#### 16"), std::string::npos) << a.text;
  EXPECT_EQ(a.done->reason, FinishReason::stop);
  EXPECT_EQ(a.tokens.back(), 2);
}

TEST(EngineOpen, TheReferencePathAndTokenIdsAlone) {
  constexpr int kTokens = kSanitized ? 2 : 8;
  EngineOptions options;
  options.reference = true;
  options.skip_tokenizer_init = true;
  options.max_num_batched_tokens = 64;
  const auto engine = Engine::open(options);
  EXPECT_EQ(engine->info().operations, "reference");
  EXPECT_EQ(engine->info().kv_cache_dtype, "f32");
  EXPECT_FALSE(engine->info().has_tokenizer);
  const Json golden = goldens(1)[0];
  const Answer a = answer(*engine, ids_request(golden["prompt_ids"].get<std::vector<std::int32_t>>(), kTokens));
  const auto want = golden["completion_ids"].get<std::vector<std::int32_t>>();
  EXPECT_EQ(a.tokens, std::vector<std::int32_t>(want.begin(), want.begin() + kTokens));
  EXPECT_EQ(a.text, "");
}

TEST(EngineOpen, AnFp8CacheIsServedAndShown) {
  EngineOptions options;
  options.model = (kSource / "tests" / "data" / "fixtures" / "qwen3_moe-nvfp4-kvfp8").string();
  options.skip_tokenizer_init = true;
  options.max_num_seqs = 1;
  options.max_model_len = 64;
  const std::int64_t plain = Engine::open(options)->info().kv_cache_bytes;
  options.kv_cache_dtype = "fp8";
  const auto engine = Engine::open(options);
  EXPECT_EQ(engine->info().kv_cache_dtype, "f8e4m3");
  EXPECT_EQ(2 * engine->info().kv_cache_bytes, plain);
  EXPECT_EQ(answer(*engine, ids_request({5, 17, 42}, 8)).tokens.size(), 8u);
}

TEST(EngineOpen, RefusalsSayWhatToDo) {
  EngineOptions options;
  options.model = (kSource / "there-is-no-such-folder").string();
  EXPECT_NE(refusal(options).find("there-is-no-such-folder"), std::string::npos) << refusal(options);
  options = {};
  options.kv_cache_dtype = "f61";
  EXPECT_NE(refusal(options).find("kv_cache_dtype 'f61' is not known"), std::string::npos) << refusal(options);
  options = {};
  options.max_model_len = 4096;
  EXPECT_NE(refusal(options).find("context has 2048 tokens"), std::string::npos) << refusal(options);
  options = {};
  options.moe_backend = "latnecy";
  EXPECT_NE(refusal(options).find("latency"), std::string::npos) << refusal(options);
  options = {};
  options.chat_template = "{% for %}";
  EXPECT_NE(refusal(options).find("the chat template of the options"), std::string::npos) << refusal(options);
  options = {};
  options.model = (kSource / "tests" / "data" / "fixtures" / "qwen3_moe-nvfp4-kvfp8").string();
  if (std::filesystem::exists(options.model)) {
    EXPECT_NE(refusal(options).find("expected tokenizer.json"), std::string::npos) << refusal(options);
  }
}

TEST(EngineOpen, AFolderIsOpenedLikeTheBuiltInModel) {
  EngineOptions options;
  options.model = (kSource / "models" / "tinymoe" / "nvfp4").string();
  std::int64_t seen = 0, total = 0;
  options.progress = [&](std::int64_t done, std::int64_t of) {
    EXPECT_GE(done, seen);
    seen = done;
    total = of;
  };
  const auto engine = Engine::open(options);
  EXPECT_EQ(engine->info().location, options.model);
  EXPECT_GT(total, 10'000'000);
  EXPECT_EQ(seen, total);
}

}  // namespace
}  // namespace conclave::testing
