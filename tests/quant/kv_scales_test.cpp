#include "quant/kv_scales.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "tests/quant/tensor_map.h"

namespace conclave {
namespace {

using Problems = std::vector<std::string>;
const std::string kAttention = "model.layers.0.self_attn";

TEST(KvScales, EveryPublishedSpelling) {
  const std::pair<std::string, std::string> cases[] = {{kAttention, ".k_proj.k_scale"},
                                                       {kAttention, ".qkv_proj.k_scale"},
                                                       {kAttention, ".attn.k_scale"},
                                                       {kAttention, ".k_scale"},
                                                       {kAttention, ".k_cache.scale"},
                                                       {kAttention, ".k_proj.output_scale"},
                                                       {"backbone.layers.4.mixer", ".k_proj.k_scale"}};
  for (const auto& [module, k_suffix] : cases) {
    std::string v_suffix = k_suffix;
    v_suffix[v_suffix.find("k_scale") != std::string::npos ? v_suffix.find("k_scale") : 1] = 'v';
    if (v_suffix.rfind(".k_", 0) == 0) v_suffix[1] = 'v';
    TensorMap source;
    source.put<float>(module + k_suffix, {}, {0.05f}).put<float>(module + v_suffix, {1}, {0.25f});
    Problems problems;
    const KvScales s = find_kv_scales(source, module, problems);
    EXPECT_TRUE(problems.empty()) << problems[0];
    EXPECT_EQ(s.k, 0.05f) << k_suffix;
    EXPECT_EQ(s.v, 0.25f) << v_suffix;
    EXPECT_EQ(s.k_source, module + k_suffix);
    EXPECT_EQ(s.v_source, module + v_suffix);
    EXPECT_TRUE(names_kv_scale(module + k_suffix) && names_kv_scale(module + v_suffix));
  }
}

TEST(KvScales, OneServesBothAndNoneIsOne) {
  Problems problems;
  for (const char* suffix : {".k_proj.k_scale", ".v_proj.v_scale", ".kv_scale"}) {
    TensorMap source;
    source.put<float>(kAttention + suffix, {}, {0.5f});
    const KvScales s = find_kv_scales(source, kAttention, problems);
    EXPECT_EQ(s.k, 0.5f);
    EXPECT_EQ(s.v, 0.5f);
    EXPECT_EQ(s.k_source, kAttention + suffix);
    EXPECT_EQ(s.v_source, kAttention + suffix);
  }
  const KvScales none = find_kv_scales(TensorMap(), kAttention, problems);
  EXPECT_EQ(none.k, 1.0f);
  EXPECT_EQ(none.v, 1.0f);
  EXPECT_FALSE(none.published());
  EXPECT_TRUE(problems.empty());
}

TEST(KvScales, BadValuesAndShapesAreNamed) {
  const std::string name = kAttention + ".k_proj.k_scale";
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 0.0f, -1.0f, 1e-45f}) {
    TensorMap source;
    source.put<float>(name, {}, {bad});
    Problems problems;
    find_kv_scales(source, kAttention, problems);
    ASSERT_EQ(problems.size(), 1u) << bad;
    EXPECT_EQ(problems[0].find("'" + name + "'"), 0u) << problems[0];
  }
  TensorMap per_head;
  per_head.put<float>(name, {2}, {1, 1});
  Problems problems;
  find_kv_scales(per_head, kAttention, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("expected one f32"), std::string::npos);
}

TEST(KvScales, SpellingsThatDisagreeAreAProblem) {
  TensorMap source;
  source.put<float>(kAttention + ".k_proj.k_scale", {}, {0.5f}).put<float>(kAttention + ".attn.k_scale", {}, {0.5f});
  Problems problems;
  EXPECT_EQ(find_kv_scales(source, kAttention, problems).k, 0.5f);
  EXPECT_TRUE(problems.empty());
  source.put<float>(kAttention + ".attn.k_scale", {}, {0.25f});
  find_kv_scales(source, kAttention, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("both name one scale"), std::string::npos);
}

TEST(KvScales, NamesOfOtherTensorsAreNotScales) {
  for (const char* name : {"model.layers.0.self_attn.k_proj.weight_scale", "model.layers.0.self_attn.k_proj.input_scale", "k_scale",
                           ".k_scale", "model.layers.0.mlp.up_proj.weight"})
    EXPECT_FALSE(names_kv_scale(name)) << name;
}

TEST(KvScales, OfAPublishedCheckpoint) {
  const auto checkpoint =
      Checkpoint::open(open_folder(std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures/qwen3_moe-nvfp4-kvfp8"));
  Problems problems;
  std::vector<KvScales> layers;
  for (int l = 0; l < 3; ++l)
    layers.push_back(find_kv_scales(*checkpoint, "model.layers." + std::to_string(l) + ".self_attn", problems));
  EXPECT_TRUE(problems.empty());
  for (const KvScales& s : layers) EXPECT_TRUE(s.published() && s.k > 0 && s.v > 0);
  for (std::string_view name : checkpoint->unused()) EXPECT_FALSE(names_kv_scale(name)) << name << " was dropped";
  EXPECT_EQ(describe(layers).find("KV scales: 3 of 3 layers published"), 0u) << describe(layers);
  EXPECT_NE(describe({}).find("none published"), std::string::npos);
}

}  // namespace
}  // namespace conclave
