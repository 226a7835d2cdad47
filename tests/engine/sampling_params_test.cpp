#include "engine/sampling_params.h"
#include "io/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace conclave {
namespace {

constexpr SamplingLimits kLimits{.vocab = 100, .max_logprobs = 20, .has_text = true};

std::string problems_of(const SamplingParams& params, const SamplingLimits& limits = kLimits) {
  Problems problems;
  std::vector<std::string> notes;
  check_sampling(params, sampling_defaults(Json::object(), notes), limits, problems);
  return problems.empty() ? "" : problems.words("request");
}

Sampling checked(const SamplingParams& params, const Json& generation = Json::object()) {
  Problems problems;
  std::vector<std::string> notes;
  const Sampling out = check_sampling(params, sampling_defaults(generation, notes), kLimits, problems);
  EXPECT_TRUE(problems.empty()) << problems.words("request");
  return out;
}

TEST(SamplingParams, NothingSaidIsPlainSampling) {
  const Sampling s = checked({});
  EXPECT_EQ(s.temperature, 1.0f);
  EXPECT_EQ(s.top_p, 1.0f);
  EXPECT_EQ(s.min_p, 0.0f);
  EXPECT_EQ(s.top_k, 0);
  EXPECT_FALSE(s.penalised());
}

TEST(SamplingParams, AllProblemsAreToldAtOnce) {
  SamplingParams p;
  p.temperature = -0.1;
  p.top_p = 0.0;
  p.min_p = 1.5;
  p.top_k = -2;
  p.repetition_penalty = 0.0;
  p.presence_penalty = 2.5;
  p.frequency_penalty = std::nan("");
  p.logit_bias = {{100, 1.0}, {5, 1e9}, {6, std::nan("")}, {-1, 0.0}};
  p.stop = {""};
  p.stop_token_ids = {100};
  p.logprobs = 21;
  p.prompt_logprobs = -1;
  p.max_tokens = 2;
  p.min_tokens = 3;
  const std::string words = problems_of(p);
  for (const char* part :
       {"temperature must be in [0, 2]", "top_p must be in (0, 1], not 0", "min_p must be", "top_k must be",
        "repetition_penalty must be in (0", "presence_penalty must be in [-2, 2], not 2.5",
        "frequency_penalty must be in [-2, 2], not nan", "logit_bias: token id 100 is not in the vocabulary [0, 100)",
        "the bias of token 5", "the bias of token 6 must be in [-100, 100], not nan", "token id -1", "empty string",
        "stop_token_ids: token id 100", "logprobs must be in [0, 20], not 21", "prompt_logprobs must be",
        "min_tokens (3) must not be above max_tokens (2)"}) {
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin:\n" << words;
  }
}

TEST(SamplingParams, EveryNumberRefusesNanAndInfinity) {
  for (double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (auto field :
         {&SamplingParams::temperature, &SamplingParams::top_p, &SamplingParams::min_p, &SamplingParams::repetition_penalty}) {
      SamplingParams p;
      p.*field = bad;
      EXPECT_NE(problems_of(p), "");
    }
    for (auto field : {&SamplingParams::presence_penalty, &SamplingParams::frequency_penalty}) {
      SamplingParams p;
      p.*field = bad;
      EXPECT_NE(problems_of(p), "");
    }
  }
}

TEST(SamplingParams, EdgesOfRangesAreIn) {
  SamplingParams p;
  p.temperature = 2.0;
  p.top_p = 1.0;
  p.min_p = 1.0;
  p.top_k = -1;
  p.presence_penalty = -2.0;
  p.logit_bias = {{99, -100.0}, {0, 100.0}};
  p.logprobs = 20;
  EXPECT_EQ(problems_of(p), "");
}

TEST(SamplingParams, SizesAreBounded) {
  SamplingParams p;
  for (int i = 0; i < 1200; ++i) p.logit_bias.emplace_back(i % 100, 1.0);
  EXPECT_NE(problems_of(p).find("logit_bias may have 1024 entries, not 1200"), std::string::npos);
  SamplingParams q;
  q.stop.assign(65, "x");
  EXPECT_NE(problems_of(q).find("stop may have 64 strings"), std::string::npos);
  SamplingParams r;
  r.stop = {std::string(1025, 'x'), "\xff"};
  EXPECT_NE(problems_of(r).find("1024 bytes"), std::string::npos);
  EXPECT_NE(problems_of(r).find("must be UTF-8"), std::string::npos);
}

TEST(SamplingParams, StopStringsNeedText) {
  SamplingParams p;
  p.stop = {"x"};
  EXPECT_NE(problems_of(p, {.vocab = 10, .has_text = false}).find("needs a tokenizer"), std::string::npos);
}

TEST(SamplingParams, TinyTemperaturesAreGreedyOrRaised) {
  SamplingParams p;
  p.temperature = 9e-6;
  EXPECT_TRUE(checked(p).greedy());
  p.temperature = 1e-4;
  EXPECT_EQ(checked(p).temperature, 0.01f);
}

TEST(SamplingDefaults, ComeFromGenerationConfigAndTheRequestWins) {
  const Json generation = Json::parse(R"({"temperature": 0.6, "top_p": 0.9, "top_k": 20, "min_p": null, "repetition_penalty": 1.05,
                                          "max_new_tokens": 7, "eos_token_id": 2})");
  const Sampling s = checked({}, generation);
  EXPECT_EQ(s.temperature, 0.6f);
  EXPECT_EQ(s.top_p, 0.9f);
  EXPECT_EQ(s.top_k, 20);
  EXPECT_EQ(s.repetition_penalty, 1.05f);
  SamplingParams p;
  p.temperature = 1.0;
  p.top_k = 0;
  EXPECT_EQ(checked(p, generation).temperature, 1.0f);
  EXPECT_EQ(checked(p, generation).top_k, 0);
  std::vector<std::string> notes;
  const SamplingDefaults d = sampling_defaults(generation, notes);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(d.max_tokens, 7);
  ASSERT_EQ(d.shown.size(), 6u);
  EXPECT_EQ(d.shown[0].field, "temperature");
  EXPECT_EQ(d.shown[0].source, "generation_config.json");
  EXPECT_EQ(d.shown[3].field, "min_p");
  EXPECT_EQ(d.shown[3].source, "built in");
}

TEST(SamplingDefaults, DoSampleFalseIsGreedyAndNonsenseIsNotUsed) {
  std::vector<std::string> notes;
  EXPECT_EQ(sampling_defaults(Json::parse(R"({"do_sample": false, "temperature": 0.7})"), notes).temperature, 0.0);
  EXPECT_TRUE(notes.empty());
  const SamplingDefaults d =
      sampling_defaults(Json::parse(R"({"temperature": "hot", "top_p": 7, "top_k": -5, "max_new_tokens": 1e30})"), notes);
  EXPECT_EQ(d.temperature, 1.0);
  EXPECT_EQ(d.top_p, 1.0);
  EXPECT_EQ(d.top_k, 0);
  EXPECT_FALSE(d.max_tokens);
  EXPECT_EQ(notes.size(), 4u);
  EXPECT_NE(notes[0].find("temperature is \"hot\" and is not used"), std::string::npos) << notes[0];
  notes.clear();
  sampling_defaults(Json{{"temperature", std::string(100000, 'x')}}, notes);
  EXPECT_LT(notes.at(0).size(), 300u);
}

}  // namespace
}  // namespace conclave
