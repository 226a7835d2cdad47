// What the goldens do not show: special tokens, invalid input, long and hostile texts, bytes of single tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "conclave/error.h"
#include "io/json.h"
#include "tests/text/tokenizer_fixtures.h"
#include "text/text_size.h"
#include "text/tokenizer.h"

namespace conclave {
namespace {

using Ids = std::vector<Token>;

TEST(Tokenizer, B121_BeginOfTextIsAddedOnceForEachAsking) {
  const Tokenizer& mixtral = tokenizer_in_tree("mixtral_v1");
  const Token bos = mixtral.bos().value();
  EXPECT_EQ(bos, 1);
  EXPECT_EQ(mixtral.eos(), 2);
  EXPECT_EQ(mixtral.special_prefix(), Ids{bos});
  EXPECT_TRUE(mixtral.special_suffix().empty());
  const auto count = [&](const char* text, bool add) {
    const Ids ids = mixtral.encode(text, add);
    return std::count(ids.begin(), ids.end(), bos);
  };
  EXPECT_EQ(count("hi", false), 0);
  EXPECT_EQ(count("hi", true), 1);
  EXPECT_EQ(count("<s>hi", false), 1);  // a rendered chat template
  EXPECT_EQ(count("<s>hi", true), 2);   // encode() does not look at what the text begins with
  EXPECT_TRUE(tokenizer_in_tree("qwen3").special_prefix().empty());
  // The flag of tokenizer_config.json is known, and not obeyed: tokenizer.json has no template here.
  EXPECT_EQ(tokenizer_in_tree("deepseek_v3").add_bos(), true);
  EXPECT_TRUE(tokenizer_in_tree("deepseek_v3").special_prefix().empty());
  EXPECT_EQ(tokenizer_in_tree("deepseek_v3").bos(), 0);
}

TEST(Tokenizer, EndOfTextIsAddedBehind) {
  Json json = small_tokenizer_json();
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, special = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  json["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {special, text, special}},
                            {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {5}}, {"tokens", {"<s>"}}}}}}};
  const auto tokenizer = Tokenizer::from_json(json.dump());
  EXPECT_EQ(tokenizer->encode("abc", true), (Ids{5, 4, 5}));
  EXPECT_EQ(tokenizer->encode("<s>abc", true), (Ids{5, 5, 4, 5}));
  EXPECT_EQ(tokenizer->encode("", true), (Ids{5, 5}));
}

TEST(Tokenizer, SpecialAndAddedTokensDiffer) {
  const Tokenizer& qwen = tokenizer_in_tree("qwen3");
  const Token think = qwen.id_of("<think>").value(), end = qwen.id_of("<|im_end|>").value();
  EXPECT_FALSE(qwen.is_special(think));
  EXPECT_TRUE(qwen.is_special(end));
  EXPECT_FALSE(qwen.is_special(-1));
  EXPECT_FALSE(qwen.is_special(1000000000));
  EXPECT_EQ(qwen.decode(Ids{think, end}, true), "<think>");
  EXPECT_EQ(qwen.decode(Ids{think, end}, false), "<think><|im_end|>");
  EXPECT_FALSE(qwen.id_of("no such token").has_value());
}

// U+FFFD for each maximal subpart: the tokens are those of the repaired text.
TEST(Tokenizer, InvalidInputIsReadAsReplacementCharacters) {
  const struct {
    std::string bytes, repaired;
  } cases[] = {{"a\xFFz", "a\uFFFDz"},
               {"\xE2\x82", "\uFFFD"},  // cut short: one
               {"\xE2\x82z", "\uFFFDz"},
               {"\xF0\x9F\x91\xF0\x9F\x91\x8B", "\uFFFD\U0001F44B"},
               {"\xC0\xAF", "\uFFFD\uFFFD"},  // overlong
               {"\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},
               {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // a surrogate
               {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // beyond U+10FFFF
               {"\xF1\x80\x80\xE1\x80\xC2\x41",
                "\uFFFD\uFFFD\uFFFD"
                "A"},
               {std::string("\0\x80\0", 3), std::string("\0\xEF\xBF\xBD\0", 5)}};
  for (const char* model : {"qwen3", "mixtral_v1", "deepseek_v3"}) {
    const Tokenizer& tokenizer = tokenizer_in_tree(model);
    for (const auto& one : cases)
      EXPECT_EQ(tokenizer.encode(one.bytes, false), tokenizer.encode(one.repaired, false)) << model << one.repaired;
  }
}

TEST(Tokenizer, BytesOfSingleTokens) {
  const Tokenizer& qwen = tokenizer_in_tree("qwen3");
  const Tokenizer& mixtral = tokenizer_in_tree("mixtral_v1");
  EXPECT_EQ(qwen.bytes_of(qwen.id_of("\u0120the").value()), " the");
  EXPECT_EQ(qwen.bytes_of(qwen.id_of("<|im_end|>").value()), "<|im_end|>");
  EXPECT_EQ(mixtral.bytes_of(mixtral.id_of("\u2581the").value()), " the");
  EXPECT_EQ(mixtral.bytes_of(mixtral.id_of("<0xF0>").value()), "\xF0");
  EXPECT_EQ(mixtral.bytes_of(mixtral.id_of("<0x0A>").value()), "\n");
  EXPECT_EQ(mixtral.bytes_of(1), "<s>");
  // The bytes of a text's tokens are the text (mixtral: behind the space that its normalizer puts first).
  const std::string text =
      "\U0001F469\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466 d\u2019\u010F \u05E9\u05DC\u05D5\u05DD\n\u5B57";
  for (const char* model : {"qwen3", "mixtral_v1", "deepseek_v3"}) {
    const Tokenizer& tokenizer = tokenizer_in_tree(model);
    std::string bytes;
    for (const Token id : tokenizer.encode(text, false)) bytes += tokenizer.bytes_of(id);
    EXPECT_EQ(bytes, &tokenizer == &mixtral ? " " + text : text) << model;
  }
}

// Quadratic merging, or a regular expression that goes back and forth, would take minutes.
TEST(Tokenizer, LongUniformTextsAreTokenizedInTime) {
  std::string marks, mixed;
  for (int i = 0; i < 25000; ++i) marks += "\u0301\u0316";
  for (int i = 0; i < 50000; ++i) mixed += i % 7 == 0 ? " \t" : "aB";
  for (const char* model : {"qwen3", "mixtral_v1", "deepseek_v3"}) {
    const Tokenizer& tokenizer = tokenizer_in_tree(model);
    for (const std::string& text : {std::string(100000, 'a'), std::string(100000, ' '), std::string(100000, '<'), marks, mixed}) {
      const Ids ids = tokenizer.encode(text, false);
      EXPECT_GT(ids.size(), 100u) << model;
      const std::string back = tokenizer.decode(ids, false);
      EXPECT_EQ(back.size(), text.size()) << model;
    }
  }
}

TEST(Tokenizer, RefusesTextsWithoutBound) {
  const auto tokenizer = Tokenizer::from_json(small_tokenizer_json().dump());
  EXPECT_THROW(tokenizer->encode(std::string(kMostTextBytes + 1, 'a'), false), Error);
  // A short text that normalizers make a thousand times longer, ten times over.
  Json json = small_tokenizer_json();
  const Json longer = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::vector<Json>(10, longer)}};
  try {
    Tokenizer::from_json(json.dump())->encode("a", false);
    ADD_FAILURE() << "was tokenized";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_input) << error.what();
  }
}

TEST(Tokenizer, ExplodingRegularExpressionFailsOnTheTextOnly) {
  Json json = small_tokenizer_json();
  json["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(a|aa)+$"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const auto tokenizer = Tokenizer::from_json(json.dump());
  EXPECT_EQ(tokenizer->encode("abc", false), Ids{4});
  try {
    tokenizer->encode(std::string(60, 'a') + "b", false);
    ADD_FAILURE() << "was tokenized";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_input);
    EXPECT_NE(std::string(error.what()).find("(a|aa)+$"), std::string::npos) << error.what();
  }
}

TEST(Tokenizer, IsThreadSafe) {
  const Tokenizer& tokenizer = tokenizer_in_tree("qwen3");
  const std::string text = "Threads say \u4F60\u597D <|im_end|> 12345, don't they?";
  const Ids expected = tokenizer.encode(text, false);
  std::vector<std::size_t> equal(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) equal[t] += tokenizer.encode(text, false) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<std::size_t>(4, 200));
}

}  // namespace
}  // namespace conclave
