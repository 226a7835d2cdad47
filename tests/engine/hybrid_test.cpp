// The engine around a model whose layers keep a state per sequence: whoever shares a batch, is preempted or takes a used slot gets
// what it gets alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "models/single_sequence.h"
#include "tests/engine/fake_engine.h"
#include "tests/models/random_hybrid.h"

namespace conclave::testing {
namespace {

EngineOptions hybrid_options(const std::string& folder) {
  EngineOptions options = small_options();
  options.model = RandomHybrid("MEM*-").write(folder).string();
  options.skip_tokenizer_init = true;
  return options;
}

std::vector<Request> requests(int count) {
  std::mt19937 random(17);
  std::uniform_int_distribution<int> length(1, 60), id(0, RandomHybrid::kVocab - 1);
  std::vector<Request> out;
  for (int i = 0; i < count; ++i) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(length(random)));
    for (std::int32_t& x : ids) x = id(random);
    out.push_back(ids_request(std::move(ids), length(random)));
    out.back().sampling.logprobs = 0;
  }
  return out;
}

std::unique_ptr<TokenStream> submit(Engine& engine, Request request) {
  auto result = engine.submit(std::move(request));
  if (const auto* error = std::get_if<Error>(&result)) throw *error;
  return std::get<std::unique_ptr<TokenStream>>(std::move(result));
}

void run(Engine& engine) {
  while (engine.step()) {
  }
}

// Token by token with their log-probabilities, which any difference of a state would change.
std::string show(const Answer& answer) {
  std::string out;
  for (std::size_t i = 0; i < answer.tokens.size(); ++i)
    out += std::to_string(answer.tokens[i]) + " " + std::to_string(answer.logprobs.at(i).token.logprob) + "\n";
  return out;
}

std::vector<std::string> alone(const EngineOptions& options, const std::vector<Request>& all) {
  std::vector<std::string> out;
  for (const Request& r : all) {
    const auto engine = Engine::open(options);  // a fresh cache each
    const auto stream = submit(*engine, r);
    run(*engine);
    out.push_back(show(read_all(*stream)));
  }
  return out;
}

TEST(Hybrid, TogetherEveryoneGetsWhatTheyGetAlone) {
  const EngineOptions options = hybrid_options("engine_hybrid");
  const std::vector<Request> all = requests(20);
  const std::vector<std::string> want = alone(options, all);
  const auto engine = Engine::open(options);
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (const Request& r : all) {
    streams.push_back(submit(*engine, r));
    engine->step();
  }
  run(*engine);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(show(read_all(*streams[i])), want[i]) << i;
  EXPECT_EQ(engine->status().preemptions, 0);
}

TEST(Hybrid, PreemptedSequencesContinueAsIfNothingHadHappened) {
  EngineOptions options = hybrid_options("engine_hybrid_preempted");
  const std::vector<Request> all = requests(16);
  const std::vector<std::string> want = alone(options, all);
  options.max_model_len = 128;
  options.kv_cache_tokens = 144;
  const auto engine = Engine::open(options);
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (const Request& r : all) streams.push_back(submit(*engine, r));
  run(*engine);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(show(read_all(*streams[i])), want[i]) << i;
  EXPECT_GT(engine->status().preemptions, 0);
}

TEST(Hybrid, CancelledSequencesLeaveTheirSlotsToOthers) {
  EngineOptions options = hybrid_options("engine_hybrid_cancelled");
  const std::vector<Request> all = requests(24);
  options.max_num_seqs = 2;
  const std::vector<std::string> want = alone(options, all);
  const auto engine = Engine::open(options);
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (const Request& r : all) streams.push_back(submit(*engine, r));
  for (std::size_t i = 0; i < all.size(); i += 2) {
    engine->step();
    streams[i]->cancel();
  }
  run(*engine);
  for (std::size_t i = 1; i < all.size(); i += 2) EXPECT_EQ(show(read_all(*streams[i])), want[i]) << i;
}

TEST(Hybrid, TheStatesAreCountedAsMemoryOfTheCache) {
  const auto engine = Engine::open(hybrid_options("engine_hybrid_info"));
  const ModelInfo& info = engine->info();
  const std::int64_t state = 2 * 4 * (3 * (64 + 2 * 16) + 4 * 16 * 8), token = 2 * 2 * 16 * 4;
  EXPECT_EQ(info.kv_cache_bytes, info.kv_cache_tokens * token + info.max_num_seqs * state);
}

// B077: every pair of options works or is refused by name.
TEST(Hybrid, B077_EveryPairOfOptionsWorksOrIsRefused) {
  struct Choice {
    const char* name;
    void (*set)(EngineOptions&);
  };
  const Choice choices[] = {
      {"fp8 cache", [](EngineOptions& o) { o.kv_cache_dtype = "fp8"; }},
      {"reference", [](EngineOptions& o) { o.reference = true; }},
      {"dummy weights", [](EngineOptions& o) { o.load_format = "dummy"; }},
      {"chunks of two", [](EngineOptions& o) { o.max_num_seqs = o.max_num_batched_tokens = 2; }},
      {"preemption", [](EngineOptions& o) { o.max_model_len = 128, o.kv_cache_tokens = 144; }},
      {"latency", [](EngineOptions& o) { o.moe_backend = "latency"; }},
      {"no verification", [](EngineOptions& o) { o.verify = false; }},
      {"chat template", [](EngineOptions& o) { o.chat_template = "{{ messages }}"; }},
  };
  EngineOptions plain = hybrid_options("engine_hybrid_pairs");
  plain.kv_cache_dtype = "auto";
  for (const Choice& a : choices) {
    for (const Choice& b : choices) {
      EngineOptions options = plain;
      a.set(options);
      b.set(options);
      const std::string pair = std::string(a.name) + " and " + b.name;
      try {
        const auto engine = Engine::open(options);
        ASSERT_TRUE(options.chat_template.empty()) << pair;
        const auto stream = submit(*engine, ids_request({5, 3, 8}, 4));
        run(*engine);
        EXPECT_EQ(read_all(*stream).tokens.size(), 4u) << pair;
        const bool fp8 = options.kv_cache_dtype == "fp8";
        EXPECT_EQ(engine->info().kv_cache_dtype, fp8 ? "f8e4m3" : options.reference ? "f32" : "bf16") << pair;
        const auto told = std::count_if(engine->info().notes.begin(), engine->info().notes.end(),
                                        [](const std::string& note) { return note.find("fp8 KV cache") != std::string::npos; });
        EXPECT_EQ(told, fp8 ? 1 : 0) << pair;
      } catch (const Error& e) {
        EXPECT_FALSE(options.chat_template.empty()) << pair << ": " << e.what();
        EXPECT_NE(std::string(e.what()).find("chat_template needs the tokenizer that skip_tokenizer_init leaves out"),
                  std::string::npos)
            << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace conclave::testing
