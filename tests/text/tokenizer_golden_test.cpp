// Tokens and text against what the tokenizers library (0.23.2) gives for real tokenizers.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/json.h"
#include "tests/text/gzip_lines.h"
#include "text/incremental_decoder.h"
#include "text/tokenizer.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = CONCLAVE_SOURCE_DIR;
const fs::path kShared = kSource / ".." / "shared";

// One tokenizer and its golden files: in the tree, or in the folder beside it.
struct Material {
  fs::path tokenizer, config, tokenize, stream;

  static Material in(const fs::path& tokenizers, const fs::path& goldens, const std::string& model) {
    return {tokenizers / model / "tokenizer.json.gz", tokenizers / model / "tokenizer_config.json",
            goldens / "tokenize" / (model + ".jsonl.gz"), goldens / "stream" / (model + ".jsonl.gz")};
  }
};

const Tokenizer& loaded(const Material& material) {
  static std::map<fs::path, std::unique_ptr<const Tokenizer>> all;
  auto& one = all[material.tokenizer];
  if (!one) one = Tokenizer::from_json(read_gzip(material.tokenizer), read_gzip(material.config));
  return *one;
}

void check_tokenize_rows(const Material& material) {
  const Tokenizer& tokenizer = loaded(material);
  const auto rows = read_gzip_lines(material.tokenize);
  ASSERT_GE(rows.size(), 280u);
  for (const Json& row : rows) {
    SCOPED_TRACE(row.at("id").get<std::string>() + " (" + row.at("cat").get<std::string>() + ")");
    const auto text = row.at("text").get<std::string>();
    const auto plain = tokenizer.encode(text, false), with_special = tokenizer.encode(text, true);
    EXPECT_EQ(plain, row.at("ids").get<std::vector<Token>>());
    EXPECT_EQ(with_special, row.at("ids_special").get<std::vector<Token>>());
    const auto ids = row.at("ids_special").get<std::vector<Token>>();
    EXPECT_EQ(tokenizer.decode(ids, true), row.at("decode_skip").get<std::string>());
    EXPECT_EQ(tokenizer.decode(ids, false), row.at("decode_keep").get<std::string>());
    if (!row.contains("tokens")) continue;
    const auto names = row.at("tokens").get<std::vector<std::string>>();
    ASSERT_EQ(names.size(), plain.size());
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(tokenizer.text_of(plain[i]), names[i]);
  }
}

struct Streamed {
  std::vector<std::string> pieces;
  std::string tail, joined;
};

Streamed stream(const Tokenizer& tokenizer, const Json& row, ByteRuns byte_runs) {
  const auto prompt = row.contains("prompt_ids") ? row.at("prompt_ids").get<std::vector<Token>>() : std::vector<Token>();
  IncrementalDecoder decoder(tokenizer, row.at("skip_special").get<bool>(), prompt, byte_runs);
  Streamed out;
  for (const Token id : row.at("ids").get<std::vector<Token>>()) {
    out.pieces.push_back(decoder.push(id));
    out.joined += out.pieces.back();
  }
  out.tail = decoder.flush();
  out.joined += out.tail;
  return out;
}

// What the pieces must join to: the row's `full`, or behind a prompt what the prompt leaves of `full_with_prompt`.
std::string expected_text(const Tokenizer& tokenizer, const Json& row) {
  if (!row.contains("prompt_ids")) return row.at("full").get<std::string>();
  const auto both = row.at("full_with_prompt").get<std::string>();
  const auto prompt = tokenizer.decode(row.at("prompt_ids").get<std::vector<Token>>(), row.at("skip_special").get<bool>());
  EXPECT_TRUE(both.starts_with(prompt));
  return both.substr(prompt.size());
}

void check_stream_rows(const Material& material) {
  const Tokenizer& tokenizer = loaded(material);
  const auto rows = read_gzip_lines(material.stream);
  ASSERT_GE(rows.size(), 60u);
  std::size_t ideal_rows = 0;
  for (const Json& row : rows) {
    SCOPED_TRACE(row.at("id").get<std::string>());
    EXPECT_EQ(tokenizer.decode(row.at("ids").get<std::vector<Token>>(), row.at("skip_special").get<bool>()),
              row.at("full").get<std::string>());
    EXPECT_EQ(stream(tokenizer, row, ByteRuns::whole).joined, expected_text(tokenizer, row));
    if (!row.contains("ideal")) continue;
    ++ideal_rows;
    const Streamed early = stream(tokenizer, row, ByteRuns::early);
    EXPECT_EQ(early.pieces, row.at("ideal").get<std::vector<std::string>>());
    EXPECT_EQ(early.tail, row.at("ideal_tail").get<std::string>());
    EXPECT_EQ(early.joined, expected_text(tokenizer, row));
  }
  EXPECT_GT(ideal_rows, rows.size() / 2);
}

class InTree : public testing::TestWithParam<const char*> {
 protected:
  Material material() const {
    return Material::in(kSource / "tests" / "data" / "tokenizers", kSource / "tests" / "data" / "goldens", GetParam());
  }
};

TEST_P(InTree, Tokenizes) { check_tokenize_rows(material()); }
TEST_P(InTree, Streams) { check_stream_rows(material()); }

INSTANTIATE_TEST_SUITE_P(TokenizerGoldens, InTree, testing::Values("qwen3", "deepseek_v3", "mixtral_v1"),
                         [](const auto& which) { return std::string(which.param); });

// Those whose size or licence keeps them out of the tree.
class Beside : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!fs::exists(material().tokenizer))
      GTEST_SKIP() << "no " << material().tokenizer << ": the goldens of " << GetParam() << " were not checked";
  }
  Material material() const { return Material::in(kShared / "tokenizers", kShared / "goldens", GetParam()); }
};

TEST_P(Beside, Tokenizes) { check_tokenize_rows(material()); }
TEST_P(Beside, Streams) { check_stream_rows(material()); }

INSTANTIATE_TEST_SUITE_P(TokenizerGoldens, Beside, testing::Values("llama3_1", "gpt_oss"),
                         [](const auto& which) { return std::string(which.param); });

TEST(ShippedModel, PromptsAndCompletions) {
  const fs::path model = kShared / "model";
  if (!fs::exists(model)) GTEST_SKIP() << "no " << model << ": the goldens of the shipped model were not checked";
  const auto tokenizer =
      Tokenizer::from_json(read_gzip(model / "nvfp4" / "tokenizer.json"), read_gzip(model / "nvfp4" / "tokenizer_config.json"));
  EXPECT_EQ(tokenizer->vocab_size(), 4096);
  EXPECT_EQ(tokenizer->eos(), tokenizer->id_of("<|im_end|>"));
  EXPECT_FALSE(tokenizer->bos().has_value());
  const auto rows = read_gzip_lines(model / "goldens" / "goldens_50.jsonl");
  ASSERT_EQ(rows.size(), 50u);
  for (const Json& row : rows) {
    const auto completion = row.at("completion_ids").get<std::vector<Token>>();
    EXPECT_EQ(tokenizer->encode(row.at("prompt").get<std::string>(), false), row.at("prompt_ids").get<std::vector<Token>>());
    EXPECT_EQ(tokenizer->decode(completion, true), row.at("completion").get<std::string>());
  }
}

}  // namespace
}  // namespace conclave
