#include "hub/model_id.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

TEST(ModelId, AcceptsWhatTheHubNamesModels) {
  const auto plain = parse_model_id("Qwen/Qwen3-30B-A3B");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name, "Qwen/Qwen3-30B-A3B");
  EXPECT_EQ(plain->revision, "main");
  const auto at = parse_model_id("hf://nvidia/Llama-3.3-70B-Instruct-FP4@refs/pr/1");
  ASSERT_TRUE(at);
  EXPECT_EQ(at->name, "nvidia/Llama-3.3-70B-Instruct-FP4");
  EXPECT_EQ(at->revision, "refs/pr/1");
  EXPECT_EQ(parse_model_id("hf://gpt2")->name, "gpt2");
  EXPECT_EQ(parse_model_id("a/_b@v1.0+x")->revision, "v1.0+x");
  EXPECT_TRUE(parse_model_id("a/" + std::string(96, 'b')));
}

TEST(ModelId, RefusesTheRest) {
  for (const char* bad : {"",       "/",      "gpt2",     "a/",     "/a",       "a/b/c",      "hf://",   "hf://a/b/c", "../b",
                          "a/..",   "./a",    "a/.b",     "a/b.",   "-a/b",     "a/b-",       "a--b/c",  "a/b--c",     "a/b..c",
                          "a b/c",  "a/b\n",  "a/b?x",    "a/b%2e", "a/b#c",    "\xc3\xa9/b", "a/b@",    "a/b@../x",   "a/b@x/..",
                          "a/b@/x", "a/b@x/", "a/b@x//y", "a/b@.x", "a/b@x/.y", "a/b@x y",    "a/b@x@y", "https://a/b"})
    EXPECT_FALSE(parse_model_id(bad)) << bad;
  EXPECT_FALSE(parse_model_id(std::string_view("a/b\0c", 5)));
  EXPECT_FALSE(parse_model_id("a/" + std::string(97, 'b')));
  EXPECT_FALSE(parse_model_id("a/b@" + std::string(256, 'b')));
}

TEST(ModelId, KnowsCommits) {
  EXPECT_TRUE(is_commit("0123456789abcdef0123456789abcdef01234567"));
  EXPECT_FALSE(is_commit("0123456789ABCDEF0123456789abcdef01234567"));
  EXPECT_FALSE(is_commit("0123456789abcdef0123456789abcdef0123456"));
}

}  // namespace
}  // namespace conclave
