#include "checkpoint/dummy_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "quant/codec.h"
#include "quant/stacked_experts.h"

namespace conclave {
namespace {

std::unique_ptr<Checkpoint> dummy(DummyValues values) { return open_dummy_checkpoint(embedded_files("nothing", {}), values); }

std::vector<float> floats(const ConstTensorView& view) {
  std::vector<float> out(static_cast<std::size_t>(view.shape.elements()));
  std::memcpy(out.data(), view.data, out.size() * sizeof(float));
  return out;
}

TEST(DummyCheckpoint, HoldsWhatWasAskedForAndNothingElse) {
  const auto checkpoint = dummy(DummyValues::none);
  EXPECT_FALSE(checkpoint->has_values());
  EXPECT_FALSE(checkpoint->find("b.weight"));
  ASSERT_TRUE(checkpoint->provide("b.weight", {DType::bf16, {4, 6}, -1, 1}));
  ASSERT_TRUE(checkpoint->provide("a.weight", {DType::u8, {2, 3}}));
  EXPECT_EQ(checkpoint->find("b.weight")->shape, (Shape{4, 6}));
  EXPECT_EQ(std::vector<std::string>(checkpoint->names().begin(), checkpoint->names().end()),
            (std::vector<std::string>{"a.weight", "b.weight"}));
  EXPECT_EQ(checkpoint->info("b.weight")->dtype, "BF16");
  EXPECT_EQ(checkpoint->total_bytes(), 4u * 6 * 2 + 2 * 3);
  EXPECT_TRUE(checkpoint->unused().empty());
}

TEST(DummyCheckpoint, ValuesComeFromTheNameAndFillTheRange) {
  const auto one = dummy(DummyValues::random), two = dummy(DummyValues::random);
  const TensorNeed need{DType::f32, {1000}, -0.5f, 1.5f};
  const std::vector<float> a = floats(*one->provide("a", need));
  two->provide("b", need);
  EXPECT_EQ(a, floats(*two->provide("a", need)));
  EXPECT_NE(a, floats(*two->find("b")));
  for (float v : a) ASSERT_TRUE(v >= -0.5f && v <= 1.5f) << v;
  const auto [low, high] = std::minmax_element(a.begin(), a.end());
  EXPECT_LT(*low, -0.45f);
  EXPECT_GT(*high, 1.45f);
}

// Every format's stand-in is bound by its codec, decodes to finite numbers, and neither grows nor shrinks what it is applied to.
TEST(DummyCheckpoint, EveryFormatBindsAndKeepsTheSizeOfItsInputs) {
  for (const QuantScheme& scheme : {kF32, kF16, kBf16, kFp8Tensor, kFp8Channel, kFp8Block128, kNvfp4, kMxfp4, kInt4Group128,
                                    kInt4Group128Zero, QuantScheme{Code::f8e4m3, 1, 32, DType::f8e8m0, true}}) {
    const auto checkpoint = dummy(DummyValues::random);
    std::vector<std::string> problems;
    const Codec& codec = codec_for(scheme);
    const QuantMatrix m = codec.bind(*checkpoint, "m", scheme, 160, 256, problems);
    ASSERT_TRUE(m) << to_string(scheme) << ": " << (problems.empty() ? "" : problems.front());
    EXPECT_EQ(m.scheme, scheme);
    double squares = 0;
    std::vector<float> row(256);
    for (std::int64_t r = 0; r < m.rows; ++r) {
      codec.decode_row(m, r, row);
      for (float v : row) squares += static_cast<double>(v) * static_cast<double>(v);
    }
    const double gain = std::sqrt(squares / 160);
    EXPECT_GT(gain, 0.5) << to_string(scheme);
    EXPECT_LT(gain, 2.1) << to_string(scheme);
  }
}

TEST(DummyCheckpoint, WithoutValuesTheSameTensorsAreBound) {
  for (const QuantScheme& scheme : {kBf16, kFp8Block128, kNvfp4, kMxfp4, kInt4Group128Zero}) {
    std::set<std::string> names[2];
    for (const DummyValues values : {DummyValues::none, DummyValues::random}) {
      const auto checkpoint = dummy(values);
      std::vector<std::string> problems;
      EXPECT_TRUE(codec_for(scheme).bind(*checkpoint, "m", scheme, 256, 128, problems)) << to_string(scheme);
      names[values == DummyValues::random].insert(checkpoint->names().begin(), checkpoint->names().end());
    }
    EXPECT_EQ(names[0], names[1]);
  }
}

// gpt-oss: one tensor for all experts, under the published names, gate and up together.
TEST(DummyCheckpoint, StackedExpertsAreMadeWhole) {
  const auto checkpoint = dummy(DummyValues::random);
  const StackedExperts experts(*checkpoint, {.experts = 3, .interleaved = true});
  std::vector<std::string> problems;
  const Codec& codec = codec_for(kMxfp4);
  ASSERT_TRUE(codec.bind(experts, "mlp.experts.2.gate_proj", kMxfp4, 32, 64, problems));
  ASSERT_TRUE(codec.bind(experts, "mlp.experts.0.up_proj", kMxfp4, 32, 64, problems));
  ASSERT_TRUE(codec.bind(experts, "mlp.experts.1.down_proj", kMxfp4, 64, 32, problems));
  EXPECT_EQ(std::vector<std::string>(checkpoint->names().begin(), checkpoint->names().end()),
            (std::vector<std::string>{"mlp.experts.down_proj_blocks", "mlp.experts.down_proj_scales",
                                      "mlp.experts.gate_up_proj_blocks", "mlp.experts.gate_up_proj_scales"}));
  EXPECT_EQ(checkpoint->find("mlp.experts.gate_up_proj_blocks")->shape, (Shape{3, 64, 32}));
  EXPECT_EQ(checkpoint->find("mlp.experts.down_proj_scales")->shape, (Shape{3, 64, 1}));
}

}  // namespace
}  // namespace conclave
