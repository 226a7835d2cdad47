#include "quant/module_patterns.h"

#include <gtest/gtest.h>

#include "conclave/error.h"

namespace conclave {
namespace {

struct MatchCase {
  const char* entry;
  const char* module;
  bool expected;
};

constexpr MatchCase kMatchCases[] = {
    // names: runs of whole components
    {"lm_head", "lm_head", true},
    {"lm_head", "language_model.lm_head", true},
    {"language_model.lm_head", "lm_head", true},
    {"lm_head", "my_lm_head", false},
    {"model.layers.0.self_attn", "model.layers.0.self_attn", true},
    {"model.layers.0.self_attn", "model.layers.0.self_attn.q_proj", true},
    {"model.layers.0.self_attn", "model.layers.0.self_attn_norm", false},
    {"model.layers.1", "model.layers.1.mlp.experts.7.up_proj", true},
    {"model.layers.1", "model.layers.10.mlp.up_proj", false},
    {"model.layers.1", "model.layers.11", false},
    {"model.layers.1.mlp", "model.layers.1.mlp.experts.0.up_proj", true},
    {"gate", "model.layers.0.block_sparse_moe.gate", true},
    {"gate", "model.layers.0.mlp.gate_proj", false},
    {"gate", "model.layers.0.mlp.shared_expert_gate", false},
    {"mlp.gate", "model.layers.3.mlp.gate", true},
    {"mlp.gate", "model.layers.3.mlp.gate_proj", false},
    {"e_score_correction_bias", "model.layers.0.block_sparse_moe.gate", false},
    {"language_model.model.layers.0.feed_forward.router", "model.layers.0.feed_forward.router", true},
    {"model.layers.0.feed_forward.router", "language_model.model.layers.0.feed_forward.router", true},
    {"model.language_model.layers.2.mlp", "model.layers.2.mlp.up_proj", true},
    {"model.layers.2.mlp", "model.language_model.layers.2.mlp.up_proj", true},
    // globs
    {"model.layers.0.self_attn*", "model.layers.0.self_attn.q_proj", true},
    {"model.layers.0.self_attn*", "model.layers.1.self_attn.q_proj", false},
    {"*self_attn*", "model.layers.7.self_attn.o_proj", true},
    {"*self_attn*", "model.layers.7.mlp.up_proj", false},
    {"*block_sparse_moe.gate", "model.layers.2.block_sparse_moe.gate", true},
    {"*block_sparse_moe.gate", "model.layers.2.block_sparse_moe.gate_proj", false},
    {"model.layers.*.self_attn", "model.layers.23.self_attn.k_proj", true},
    {"model.layers.*.self_attn", "language_model.model.layers.23.self_attn.k_proj", true},
    {"model.layers.*.mlp.router", "model.layers.0.mlp.router", true},
    {"model.layers.*.mlp.router", "model.layers.0.mlp.experts.0.up_proj", false},
    {"language_model.*.router", "model.layers.0.feed_forward.router", true},
    {"model.layers.?.mlp", "model.layers.3.mlp.up_proj", true},
    {"model.layers.?.mlp", "model.layers.13.mlp.up_proj", false},
    {"model.layers.[0-2].mlp", "model.layers.2.mlp.up_proj", true},
    {"model.layers.[!0-2].mlp", "model.layers.2.mlp.up_proj", false},
    // regular expressions: from the beginning, not to the end
    {"re:.*mlp.gate$", "model.layers.0.mlp.gate", true},
    {"re:.*mlp.gate$", "model.layers.0.mlp.gate_proj", false},
    {"re:.*shared_expert_gate$", "model.layers.1.mlp.shared_expert_gate", true},
    {"re:mlp", "model.layers.0.mlp.gate", false},
    {"re:model", "model.layers.0.mlp.gate", true},
    {"re:model\\.layers\\.(0|1)\\.", "model.layers.1.mlp.up_proj", true},
    {"re:model\\.layers\\.(0|1)\\.", "model.layers.11.mlp.up_proj", false},
    {"re:.*lm_head", "lm_head", true},
    {"re:visual.*", "visual.blocks.0.attn", true},
    {"re:language_model\\.lm_head$", "lm_head", true},
};

TEST(ModulePatterns, Table) {
  for (const MatchCase& c : kMatchCases) {
    ModulePatterns patterns;
    ASSERT_EQ(patterns.add(c.entry), "");
    EXPECT_EQ(patterns.match(c.module), c.expected) << "'" << c.entry << "' on '" << c.module << "'";
  }
}

TEST(ModulePatterns, GlobsFollowPython) {
  // Expected values: fnmatch.fnmatchcase of Python 3.11.
  const MatchCase cases[] = {{"", "", true},           {"*", "", true},      {"?", "", false},      {"a*b*c", "aXbYc", true},
                             {"a*b*c", "aXbY", false}, {"[]x]", "]", true},  {"[]x]", "x", true},   {"[!]]", "]", false},
                             {"[", "[", true},         {"[a", "[a", true},   {"a[b-]", "a-", true}, {"a[-b]", "a-", true},
                             {"[b-a]", "a", false},    {"**a", "xxa", true}, {"A", "a", false},     {"[!", "[!", true}};
  for (const MatchCase& c : cases) EXPECT_EQ(glob_match(c.entry, c.module), c.expected) << c.entry << " on " << c.module;
}

TEST(ModulePatterns, ManyStarsStayFast) {
  std::string pattern, text(4000, 'a');
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", text));
  EXPECT_TRUE(glob_match(pattern, text));
}

TEST(ModulePatterns, BadEntriesAreNamed) {
  ModulePatterns patterns;
  EXPECT_NE(patterns.add("re:(unclosed").find("'re:(unclosed' is not a regular expression"), std::string::npos);
  EXPECT_NE(patterns.add(""), "");
  EXPECT_NE(patterns.add(std::string(5000, 'x')), "");
  EXPECT_TRUE(patterns.empty());
}

TEST(ModulePatterns, OnlySoManyAreCompared) {
  ModulePatterns patterns;
  for (std::size_t i = 0; i < ModulePatterns::kMostRegexes + 3; ++i) ASSERT_EQ(patterns.add("re:x" + std::to_string(i) + "$"), "");
  for (std::size_t i = 0; i < ModulePatterns::kMostGlobs + 5; ++i) ASSERT_EQ(patterns.add("y" + std::to_string(i) + "-*"), "");
  EXPECT_EQ(patterns.regexes(), ModulePatterns::kMostRegexes + 3);
  EXPECT_EQ(patterns.globs(), ModulePatterns::kMostGlobs + 5);
  EXPECT_TRUE(patterns.match("x255"));
  EXPECT_FALSE(patterns.match("x256"));
  EXPECT_TRUE(patterns.match("y1023-z"));
  EXPECT_FALSE(patterns.match("y1024-z"));
}

TEST(ModulePatterns, RegularExpressionThatNeverEndsIsAnError) {
  ModulePatterns patterns;
  ASSERT_EQ(patterns.add("re:(a|a|aa)+$"), "");
  try {
    patterns.match(std::string(200, 'a') + "!");
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::bad_input);
    EXPECT_NE(std::string(e.what()).find("re:(a|a|aa)+$"), std::string::npos);
  }
}

}  // namespace
}  // namespace conclave
