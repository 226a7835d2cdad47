// Each component of tokenizer.json by itself against the tokenizers library (made by tokenizer_components.py).
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "io/json.h"
#include "tests/text/gzip_lines.h"
#include "text/incremental_decoder.h"
#include "text/tokenizer.h"

namespace conclave {
namespace {

using Ids = std::vector<Token>;

std::string streamed(const Tokenizer& tokenizer, const Ids& ids, bool skip) {
  IncrementalDecoder decoder(tokenizer, skip, {}, ByteRuns::whole);
  std::string out;
  for (const Token id : ids) decoder.push(id, out);
  return out + decoder.flush();
}

TEST(TokenizerComponents, EqualTheLibrary) {
  const auto rows =
      read_gzip_lines(std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests" / "data" / "goldens" / "tokenizer_components.jsonl.gz");
  ASSERT_EQ(rows.size(), 111u);
  for (const Json& row : rows) {
    SCOPED_TRACE(row.at("name").get<std::string>());
    const auto tokenizer = Tokenizer::from_json(row.at("tokenizer").dump());
    for (const Json& one : row.at("encode")) {
      const auto text = one.at("text").get<std::string>();
      SCOPED_TRACE(text);
      EXPECT_EQ(tokenizer->encode(text, false), one.at("ids").get<Ids>());
      EXPECT_EQ(tokenizer->encode(text, true), one.at("with_special").get<Ids>());
    }
    for (const Json& one : row.at("decode")) {
      const auto ids = one.at("ids").get<Ids>();
      const bool skip = one.at("skip").get<bool>();
      SCOPED_TRACE(one.at("ids").dump());
      EXPECT_EQ(tokenizer->decode(ids, skip), one.at("text").get<std::string>());
      EXPECT_EQ(streamed(*tokenizer, ids, skip), one.at("text").get<std::string>());
    }
  }
}

}  // namespace
}  // namespace conclave
