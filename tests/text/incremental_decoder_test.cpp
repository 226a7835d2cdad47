// Streamed text: whole characters only, and together what decode() gives.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tests/text/tokenizer_fixtures.h"
#include "text/incremental_decoder.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace conclave {
namespace {

using Ids = std::vector<Token>;

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, const Ids& ids, ByteRuns byte_runs) {
  IncrementalDecoder decoder(tokenizer, false, {}, byte_runs);
  std::vector<std::string> pieces;
  for (const Token id : ids) pieces.push_back(decoder.push(id));
  pieces.push_back(decoder.flush());
  return pieces;
}

std::string join(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

Ids byte_tokens(const Tokenizer& tokenizer, std::string_view bytes) {
  Ids ids;
  for (const char byte : bytes) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    ids.push_back(tokenizer.id_of(name).value());
  }
  return ids;
}

TEST(IncrementalDecoder, B125_CharactersOverSeveralTokens) {
  const std::string texts[] = {"family \U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466!",   // zero-width joiners
                               "\u05E9\u05B8\u05C1\u05DC\u05D5\u05B9\u05DD \u05E2\u05D5\u05DC\u05DD",  // Hebrew with points
                               "\u010F\u010E d\u030C \u0165",                                          // d-caron, composed and not
                               "\U0001F1E8\U0001F1FF\U0001F3F4\U000E0067\U000E007F \u4F60\u597D \U00020000 \u0915\u094D\u0937"};
  for (const char* model : {"qwen3", "mixtral_v1", "deepseek_v3"}) {
    const Tokenizer& tokenizer = tokenizer_in_tree(model);
    for (const std::string& text : texts) {
      const Ids ids = tokenizer.encode(text, false);
      const std::string whole = tokenizer.decode(ids, false);
      if (std::string(model) != "qwen3") {  // which composes (NFC)
        EXPECT_EQ(whole, text);
      }
      for (const ByteRuns byte_runs : {ByteRuns::early, ByteRuns::whole}) {
        const auto pieces = pieces_of(tokenizer, ids, byte_runs);
        EXPECT_EQ(join(pieces), whole) << model;
        for (const std::string& piece : pieces) EXPECT_TRUE(is_valid_utf8(piece)) << model;
        EXPECT_EQ(join(pieces).find(kReplacementCharacter), std::string::npos);
      }
    }
  }
}

TEST(IncrementalDecoder, ByteTokensCompleteACharacterWithItsLastByte) {
  const Tokenizer& mixtral = tokenizer_in_tree("mixtral_v1");
  Ids ids = {mixtral.id_of("\u2581Hello").value()};
  for (const Token id : byte_tokens(mixtral, "\U0001F389\n")) ids.push_back(id);
  ids.push_back(mixtral.id_of("world").value());
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces_of(mixtral, ids, ByteRuns::early), (Pieces{"Hello", "", "", "", "\U0001F389", "\n", "world", ""}));
  EXPECT_EQ(pieces_of(mixtral, ids, ByteRuns::whole), (Pieces{"Hello", "", "", "", "", "", "\U0001F389\nworld", ""}));
}

// The one case in which the two differ: a run of byte tokens that breaks behind whole characters.
TEST(IncrementalDecoder, BrokenRunOfByteTokens) {
  const Tokenizer& mixtral = tokenizer_in_tree("mixtral_v1");
  Ids ids = byte_tokens(mixtral, "\u4F60\xC3");
  ids.push_back(mixtral.id_of("x").value());
  EXPECT_EQ(mixtral.decode(ids, false), "\uFFFD\uFFFD\uFFFD\uFFFDx");
  EXPECT_EQ(join(pieces_of(mixtral, ids, ByteRuns::whole)), "\uFFFD\uFFFD\uFFFD\uFFFDx");
  EXPECT_EQ(join(pieces_of(mixtral, ids, ByteRuns::early)), "\u4F60\uFFFDx");
  // Nothing given out before the fault: they agree.
  const Ids broken = byte_tokens(mixtral, "\xF0\x9F\x91");
  EXPECT_EQ(join(pieces_of(mixtral, broken, ByteRuns::early)), mixtral.decode(broken, false));
  EXPECT_EQ(mixtral.decode(broken, false), "\uFFFD\uFFFD\uFFFD");
}

TEST(IncrementalDecoder, PromptDecidesHowTheReplyBegins) {
  const Tokenizer& mixtral = tokenizer_in_tree("mixtral_v1");
  const Ids prompt = mixtral.encode("The answer is", true);
  const Token forty = mixtral.id_of("\u2581forty").value();
  IncrementalDecoder alone(mixtral, true), behind(mixtral, true, prompt);
  EXPECT_EQ(alone.push(forty), "forty");
  EXPECT_EQ(behind.push(forty), " forty");
  // A character begun by the prompt is completed by the reply.
  const Ids bytes = byte_tokens(mixtral, "\u4F60");
  IncrementalDecoder completes(mixtral, true, std::span(bytes).first(2));
  EXPECT_EQ(completes.push(bytes[2]), "\u4F60");
}

TEST(IncrementalDecoder, RandomTokensJoinToTheWhole) {
  std::mt19937 random(125);
  for (const char* model : {"qwen3", "mixtral_v1", "deepseek_v3"}) {
    const Tokenizer& tokenizer = tokenizer_in_tree(model);
    const bool has_byte_tokens = tokenizer.id_of("<0x41>").has_value();
    std::uniform_int_distribution<Token> any(-2, tokenizer.vocab_size() + 2), low(0, 300);
    for (int round = 0; round < 300; ++round) {
      Ids ids(30);
      for (Token& id : ids) id = random() % 2 == 0 ? any(random) : low(random);
      const std::string whole = tokenizer.decode(ids, false);
      EXPECT_EQ(join(pieces_of(tokenizer, ids, ByteRuns::whole)), whole);
      const auto early = pieces_of(tokenizer, ids, ByteRuns::early);
      if (!has_byte_tokens) {
        EXPECT_EQ(join(early), whole);
      }
      for (const std::string& piece : early) EXPECT_TRUE(is_valid_utf8(piece));
    }
  }
}

}  // namespace
}  // namespace conclave
