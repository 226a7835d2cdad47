// Large inputs: a vocabulary-sized object is read in linear time, and real tokenizers where they are at hand.
#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "io/json.h"
#include "tests/io/refusal.h"

namespace conclave {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string vocabulary(int size) {
  std::string text = "{";
  for (int i = 0; i < size; ++i) text += (i != 0 ? ",\"token" : "\"token") + std::to_string(i) + "\":" + std::to_string(i);
  return text + "}";
}

TEST(JsonLarge, VocabularyObjectIsLinear) {
  const std::string text = vocabulary(200000);
  const auto start = std::chrono::steady_clock::now();
  const OrderedJson ordered = parse_ordered_json(text, "vocab");
  const Json sorted = parse_json(text, "vocab");
  // A quadratic search would take minutes; seconds leave room for sanitizers and a busy machine.
  EXPECT_LT(seconds_since(start), 20.0);
  ASSERT_EQ(ordered.size(), 200000u);
  ASSERT_EQ(sorted.size(), 200000u);
  EXPECT_EQ(std::prev(ordered.end()).key(), "token199999");
  EXPECT_EQ(sorted["token123456"], 123456);
}

TEST(JsonLarge, DuplicateAmongManyKeysIsFound) {
  const std::string text = vocabulary(200000);
  const std::string twice = text.substr(0, text.size() - 1) + ",\"token77\":1}";
  for (const std::string& words : {refusal(Errc::corrupt, [&] { parse_json(twice, "vocab"); }),
                                   refusal(Errc::corrupt, [&] { parse_ordered_json(twice, "vocab"); })})
    EXPECT_NE(words.find("the key 'token77' appears twice"), std::string::npos) << words;
}

std::string gunzip(const std::filesystem::path& path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return out;
  char buffer[1 << 16];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  gzclose(file);
  return out;
}

TEST(JsonLarge, RealTokenizers) {
  const std::filesystem::path folder = std::filesystem::path(CONCLAVE_SOURCE_DIR) / ".." / "shared" / "tokenizers";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no ../shared/tokenizers: parsing of real tokenizer.json files was not tried";
  for (const char* name : {"gpt_oss", "qwen3", "deepseek_v3", "llama3_1", "mixtral_v1"}) {
    const std::string text = gunzip(folder / name / "tokenizer.json.gz");
    ASSERT_GT(text.size(), 1000000u) << name;
    const auto start = std::chrono::steady_clock::now();
    const Json sorted = parse_json(text, name);
    const double sorted_seconds = seconds_since(start);
    const auto again = std::chrono::steady_clock::now();
    const OrderedJson ordered = parse_ordered_json(text, name);
    std::printf("%s: %.1f MB, %.2f s sorted, %.2f s ordered\n", name, static_cast<double>(text.size()) / 1e6, sorted_seconds,
                seconds_since(again));
    EXPECT_GT(sorted["model"]["vocab"].size(), 30000u) << name;
    EXPECT_EQ(sorted["model"]["vocab"].size(), ordered["model"]["vocab"].size()) << name;
    EXPECT_LT(sorted_seconds, 30.0) << name;
  }
}

}  // namespace
}  // namespace conclave
