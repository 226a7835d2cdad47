// The engine with a tokenizer: a model that says a given text, token by token.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/fake_engine.h"

namespace conclave::testing {
namespace {

constexpr std::int32_t kVocab = 4096;

// Answers a prompt of `prompt` tokens with `says`, then with token 0 for ever.
FakeLogits script(std::size_t prompt, std::vector<std::int32_t> says) {
  return [prompt, says](std::span<const std::int32_t> tokens, std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.0f);
    const std::size_t at = tokens.size() - prompt;
    out[at < says.size() ? static_cast<std::size_t>(says[at]) : 0] = 10.0f;
  };
}

class Says {
 public:
  explicit Says(const std::vector<std::string>& pieces) : tokenizer_(real_tokenizer()) {
    for (const std::string& piece : pieces) {
      const auto ids = tokenizer_->encode(piece, false);
      ids_.insert(ids_.end(), ids.begin(), ids.end());
    }
    prompt_ = tokenizer_->encode("Question: two and two?\nAnswer:", false);
  }

  const std::vector<std::int32_t>& ids() const { return ids_; }

  Answer answer(SamplingParams params, std::vector<std::int32_t> eos = {}) {
    auto model = std::make_unique<FakeModel>(kVocab, script(prompt_.size(), ids_));
    model->config().eos_ids = std::move(eos);
    FakeEngine e(std::move(model), small_options(), real_tokenizer());
    Request r = ids_request(prompt_, 0);
    params.temperature = 0.0;
    if (!params.max_tokens) params.max_tokens = static_cast<std::int32_t>(ids_.size());
    r.sampling = params;
    auto stream = e.submit(r);
    e.run();
    return read_all(*stream);
  }

 private:
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::vector<std::int32_t> ids_, prompt_;
};

std::string joined(const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& p : pieces) out += p;
  return out;
}

TEST(EngineText, B080_StopStringIsFoundAcrossTokensAndItsBeginningIsNeverShown) {
  Says says({" the quick br", "own", " fo", "x jumps over the lazy dog"});
  const Answer a = says.answer({.stop = {"own fox"}});
  EXPECT_EQ(a.text, " the quick br");
  EXPECT_EQ(a.done->reason, FinishReason::stop);
  EXPECT_EQ(std::get<std::string>(a.done->stop_reason), "own fox");
  EXPECT_LT(a.tokens.size(), says.ids().size());
  EXPECT_EQ(a.pieces.size(), a.tokens.size());
  const Answer kept = says.answer({.stop = {"own fox"}, .include_stop_str_in_output = true});
  EXPECT_EQ(kept.text, " the quick brown fox");
}

TEST(EngineText, TextHeldForAStopStringComesWhenTheAnswerEndsOtherwise) {
  Says says({" the quick br", "own", " fo"});
  const Answer a = says.answer({.stop = {"own fox"}});
  EXPECT_EQ(a.text, " the quick brown fo");
  EXPECT_EQ(a.done->reason, FinishReason::length);
}

TEST(EngineText, B125_CharactersSplitOverTokensComeWhole) {
  // A family emoji with joiners, Hebrew, Czech, CJK: none of it is a token of this vocabulary, so it comes byte by byte.
  const std::string text =
      " \xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D \xC4\x8F\xC3\xA1 "
      "\xE4\xBD\xA0";
  Says says({text});
  ASSERT_GT(says.ids().size(), text.size() / 2);
  const Answer a = says.answer({});
  EXPECT_EQ(a.text, text);
  EXPECT_EQ(joined(a.pieces), text);
  for (const std::string& piece : a.pieces) EXPECT_TRUE(piece.empty() || (piece[0] & 0xC0) != 0x80) << "half a character";
}

TEST(EngineText, AnUnfinishedCharacterEndsAsReplacement) {
  Says says({" \xF0\x9F\x91\xA8"});
  const auto tokens = static_cast<std::int32_t>(says.ids().size());
  const Answer a = says.answer({.max_tokens = tokens - 1});
  EXPECT_EQ(a.text, " \xEF\xBF\xBD");
}

TEST(EngineText, EndTokensLeaveNoText) {
  Says says({" yes", "<|im_end|>"});
  const Answer a = says.answer({.skip_special_tokens = false}, {2});
  EXPECT_EQ(a.text, " yes");
  EXPECT_EQ(a.done->usage.completion_tokens, static_cast<std::int32_t>(says.ids().size()));
  EXPECT_EQ(a.tokens, says.ids());
  EXPECT_EQ(a.done->reason, FinishReason::stop);
  EXPECT_EQ(says.answer({.ignore_eos = true, .skip_special_tokens = false}, {2}).text, " yes<|im_end|>");
  EXPECT_EQ(says.answer({.include_stop_str_in_output = true, .skip_special_tokens = false}, {2}).text, " yes<|im_end|>");
  EXPECT_EQ(says.answer({.ignore_eos = true}, {2}).text, " yes");
}

TEST(EngineText, MinTokensIgnoresStopStringsBefore) {
  Says says({" a", "\n", " b", "\n", " c"});
  const Answer a = says.answer({.min_tokens = 3, .stop = {"\n"}});
  EXPECT_EQ(a.text, " a\n b");
  EXPECT_EQ(a.done->reason, FinishReason::stop);
}

TEST(EngineText, TextPromptsAreTokenized) {
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options(), real_tokenizer());
  const auto ids = e.engine->tokenize("Question: how many?\nAnswer:");
  EXPECT_EQ(e.engine->detokenize(ids), "Question: how many?\nAnswer:");
  Request r = ids_request({}, 8);
  r.prompt = std::string("Question: how many?\nAnswer:");
  auto stream = e.submit(r);
  e.run();
  const Answer a = read_all(*stream);
  EXPECT_EQ(a.tokens, greedy_answer(ids, 8, kVocab));
  EXPECT_EQ(a.done->usage.prompt_tokens, static_cast<std::int32_t>(ids.size()));
  EXPECT_THROW(e.engine->detokenize(std::vector<std::int32_t>{99999}), Error);
  EXPECT_EQ(e.engine->token_bytes(ids[0]), "Question");
}

}  // namespace
}  // namespace conclave::testing
