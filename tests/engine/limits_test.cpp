#include "engine/limits.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

KvSpec tiny_spec() {  // the built-in model: 4 KB a token
  KvSpec spec;
  spec.layers = 8;
  spec.kv_heads = 2;
  spec.head_dim = 64;
  return spec;
}

std::string refusal(const EngineOptions& o, std::int64_t memory = std::int64_t{8} << 30) {
  try {
    std::vector<std::string> notes;
    kv_cache_dtype(o);
    decide_cache_limits(o, decide_step_limits(o), tiny_spec(), 2048, memory, notes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::bad_input);
    return e.what();
  }
  return "";
}

TEST(Limits, DefaultsGiveEverySequenceItsContext) {
  const StepLimits step = decide_step_limits({});
  EXPECT_EQ(step.max_num_seqs, 32);
  EXPECT_EQ(step.max_num_batched_tokens, 512);
  EXPECT_EQ(step.max_logits_rows, 64);
  std::vector<std::string> notes;
  const CacheLimits cache = decide_cache_limits({}, step, tiny_spec(), 2048, std::int64_t{8} << 30, notes);
  EXPECT_EQ(cache.max_model_len, 2048);
  EXPECT_EQ(cache.pages, 32 * 2048 / 16);
  EXPECT_EQ(cache.spec.dtype, DType::bf16);
  EXPECT_TRUE(notes.empty());
}

TEST(Limits, AQuarterOfTheMemoryLowersPagesThenTheContext) {
  std::vector<std::string> notes;
  CacheLimits cache = decide_cache_limits({}, decide_step_limits({}), tiny_spec(), 2048, 64 << 20, notes);
  EXPECT_EQ(cache.pages, (16 << 20) / (16 * 4096));
  EXPECT_EQ(cache.max_model_len, 2048);
  EXPECT_TRUE(notes.empty());
  cache = decide_cache_limits({}, decide_step_limits({}), tiny_spec(), 2048, 16 << 20, notes);
  EXPECT_EQ(cache.max_model_len, 1024);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("1024 instead of the model's 2048"), std::string::npos) << notes[0];
}

TEST(Limits, WhatWasAskedForIsGivenOrRefused) {
  EngineOptions o;
  o.max_model_len = 2048;
  EXPECT_NE(refusal(o, 16 << 20).find("holds 1024 tokens (4096 bytes each), fewer than max_model_len (2048)"), std::string::npos);
  o.max_model_len = 4096;
  EXPECT_NE(refusal(o).find("this model's context has 2048 tokens"), std::string::npos);
  o.max_model_len = 0;
  o.kv_cache_tokens = 100;
  std::vector<std::string> notes;
  const CacheLimits cache = decide_cache_limits(o, decide_step_limits(o), tiny_spec(), 2048, 1 << 30, notes);
  EXPECT_EQ(cache.pages, 7);
  EXPECT_EQ(cache.max_model_len, 112);
}

// B074: absent scales are stated once, with what follows from it.
TEST(Limits, B074_AnFp8CacheWithoutScalesIsToldOnce) {
  KvSpec spec = tiny_spec();
  const auto notes_of = [&](const char* dtype) {
    EngineOptions o;
    o.kv_cache_dtype = dtype;
    std::vector<std::string> notes;
    decide_cache_limits(o, decide_step_limits(o), spec, 2048, std::int64_t{8} << 30, notes);
    return notes;
  };
  ASSERT_EQ(notes_of("fp8").size(), 1u);
  EXPECT_NE(notes_of("fp8")[0].find("8 of 8 layers"), std::string::npos) << notes_of("fp8")[0];
  EXPECT_NE(notes_of("fp8")[0].find("beyond 448"), std::string::npos) << notes_of("fp8")[0];
  EXPECT_TRUE(notes_of("auto").empty());
  EXPECT_TRUE(notes_of("f32").empty());
  spec.k_scales.assign(8, 0.05f);
  spec.v_scales.assign(8, 0.04f);
  EXPECT_TRUE(notes_of("fp8").empty());
  spec.k_scales[3] = spec.v_scales[3] = 1.0f;
  ASSERT_EQ(notes_of("fp8").size(), 1u);
  EXPECT_NE(notes_of("fp8")[0].find("1 of 8 layers"), std::string::npos) << notes_of("fp8")[0];
}

TEST(Limits, RecurrentStatesComeOutOfTheCachesMemory) {
  KvSpec spec = tiny_spec();
  spec.recurrent = {.layers = 2, .history_rows = 3, .history_channels = 1024, .heads = 8, .head_dim = 16, .state_size = 992};
  const std::int64_t state = 2 * 4 * (3 * 1024 + 8 * 16 * 992), token = 4096;
  EXPECT_EQ(spec.recurrent.sequence_bytes(), state);  // about 1 MB
  std::vector<std::string> notes;
  CacheLimits cache = decide_cache_limits({}, decide_step_limits({}), spec, 2048, std::int64_t{8} << 30, notes);
  EXPECT_EQ(cache.sequences, 32);
  EXPECT_EQ(cache.pages, 32 * 2048 / 16);
  EXPECT_TRUE(notes.empty());

  // 16 MB: half of it for states, lowering their number; what they leave is for pages.
  cache = decide_cache_limits({}, decide_step_limits({}), spec, 2048, 64 << 20, notes);
  EXPECT_EQ(cache.sequences, (8 << 20) / state);
  EXPECT_EQ(cache.pages, ((16 << 20) - cache.sequences * state) / (16 * token));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("max_num_seqs is 8 instead of 32"), std::string::npos) << notes[0];

  EngineOptions o;
  o.max_num_seqs = 4;
  o.kv_cache_bytes = 4 * state + 10 * 16 * token;
  cache = decide_cache_limits(o, decide_step_limits(o), spec, 2048, std::int64_t{8} << 30, notes);
  EXPECT_EQ(cache.sequences, 4);
  EXPECT_EQ(cache.pages, 10);
  o.kv_cache_bytes = 3 * state;
  try {
    decide_cache_limits(o, decide_step_limits(o), spec, 2048, std::int64_t{8} << 30, notes);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("beside the recurrent states of 4 sequences"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("fewer max_num_seqs"), std::string::npos) << e.what();
  }
}

TEST(Limits, AllProblemsOfOptionsAreToldAtOnce) {
  EngineOptions o;
  o.threads = -1;
  o.max_num_seqs = 64;
  o.max_num_batched_tokens = 16;
  o.kv_cache_tokens = 10;
  o.kv_cache_bytes = 10;
  o.max_waiting = 0;
  o.max_logprobs = -2;
  const std::string words = refusal(o);
  for (const char* part : {"threads must not", "max_num_batched_tokens (16) must be at least max_num_seqs (64)", "give one",
                           "max_waiting", "max_logprobs"}) {
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin:\n" << words;
  }
}

TEST(Limits, MoreRowsThanAnyMachineComputesAreRefused) {
  EngineOptions o;
  o.max_num_seqs = o.max_num_batched_tokens = 1 << 20;
  EXPECT_EQ(decide_step_limits(o).max_num_seqs, 1 << 20);
  ++o.max_num_seqs;
  ++o.max_num_batched_tokens;
  const std::string words = refusal(o);
  for (const char* part : {"max_num_seqs must be at most 1048576", "max_num_batched_tokens must be at most 1048576"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin:\n" << words;
}

TEST(Limits, FewRowsMeanFewSequences) {
  EngineOptions o;
  o.max_num_batched_tokens = 8;
  EXPECT_EQ(decide_step_limits(o).max_num_seqs, 8);
  EngineOptions many;
  many.max_num_seqs = 1000;
  EXPECT_EQ(decide_step_limits(many).max_num_batched_tokens, 1000);
}

TEST(Limits, KvCacheTypesByTheirNames) {
  EngineOptions o;
  o.reference = true;
  EXPECT_EQ(kv_cache_dtype(o), DType::f32);
  o.kv_cache_dtype = "bfloat16";
  EXPECT_EQ(kv_cache_dtype(o), DType::bf16);
  o.kv_cache_dtype = "fp8";
  EXPECT_EQ(kv_cache_dtype(o), DType::f8e4m3);
  o.kv_cache_dtype = "bf61";
  EXPECT_NE(refusal(o).find("did you mean 'bf16'"), std::string::npos) << refusal(o);
}

}  // namespace
}  // namespace conclave
