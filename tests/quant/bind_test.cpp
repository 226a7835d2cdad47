// Binding the published tensors of one linear: every spelling, every check, and the message names the tensor.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "quant/codec.h"
#include "quant/scales.h"
#include "tests/quant/decoded.h"
#include "tests/quant/tensor_map.h"

namespace conclave {
namespace {

const std::string kModule = "model.layers.0.mlp.experts.3.up_proj";

using Problems = std::vector<std::string>;

// Bound and its block scales looked at, as a loader does.
QuantMatrix bind_module(const TensorSource& source, const QuantScheme& scheme, std::int64_t rows, std::int64_t cols,
                        Problems& problems) {
  QuantMatrix matrix = codec_for(scheme).bind(source, kModule, scheme, rows, cols, problems);
  const std::string bad = describe_bad_scales(matrix);
  if (bad.empty()) return matrix;
  problems.push_back(bad);
  return {};
}

// Exactly one problem, which names the tensor.
::testing::AssertionResult refuses(const TensorSource& source, const QuantScheme& scheme, std::int64_t rows, std::int64_t cols,
                                   const std::string& suffix, const std::string& words = "") {
  Problems problems;
  const QuantMatrix matrix = bind_module(source, scheme, rows, cols, problems);
  if (matrix) return ::testing::AssertionFailure() << "a matrix was returned";
  if (problems.size() != 1)
    return ::testing::AssertionFailure() << problems.size() << " problems" << (problems.empty() ? "" : ": " + problems[0]);
  if (problems[0].find("'" + kModule + suffix + "'") != 0)
    return ::testing::AssertionFailure() << "does not name " << suffix << ": " << problems[0];
  if (problems[0].find(words) == std::string::npos)
    return ::testing::AssertionFailure() << "'" << words << "' is not in: " << problems[0];
  return ::testing::AssertionSuccess();
}

// ---- tiny checkpoints ----------------------------------------------------------------------------------------------------------

TensorMap modelopt_nvfp4() {  // [2, 32]
  TensorMap t;
  t.put<std::uint8_t>(kModule + ".weight", {2, 16}, std::vector<std::uint8_t>(32, 0x72));                 // 1, 6, 1, 6, ...
  t.put_bytes<std::uint8_t>(kModule + ".weight_scale", DType::f8e4m3, {2, 2}, {0x38, 0x40, 0x30, 0x00});  // 1, 2, .5, 0
  t.put<float>(kModule + ".weight_scale_2", {}, {0.25f});
  t.put<float>(kModule + ".input_scale", {}, {0.125f});
  return t;
}
TensorMap compressed_nvfp4() {
  TensorMap t;
  t.put<std::uint8_t>(kModule + ".weight_packed", {2, 16}, std::vector<std::uint8_t>(32, 0x72));
  t.put_bytes<std::uint8_t>(kModule + ".weight_scale", DType::f8e4m3, {2, 2}, {0x38, 0x40, 0x30, 0x00});
  t.put<float>(kModule + ".weight_global_scale", {1}, {4.0f});
  t.put<float>(kModule + ".input_global_scale", {1}, {8.0f});
  return t;
}
TensorMap fp8_block() {  // [130, 140]: 2 x 2 blocks
  TensorMap t;
  t.put_bytes<std::uint8_t>(kModule + ".weight", DType::f8e4m3, {130, 140}, std::vector<std::uint8_t>(130 * 140, 0x38));
  t.put<float>(kModule + ".weight_scale_inv", {2, 2}, {1, 2, 3, 4});
  return t;
}
TensorMap mxfp4() {  // [2, 64]
  TensorMap t;
  t.put<std::uint8_t>(kModule + ".weight_packed", {2, 32}, std::vector<std::uint8_t>(64, 0x72));
  t.put<std::uint8_t>(kModule + ".weight_scale", {2, 2}, {127, 128, 126, 0});
  return t;
}
TensorMap int4() {  // [2, 16], groups of 8
  TensorMap t;
  t.put<std::int32_t>(kModule + ".weight_packed", {2, 2}, std::vector<std::int32_t>(4, -1455687568));
  t.put_bytes<std::uint16_t>(kModule + ".weight_scale", DType::bf16, {2, 2}, {0x3f80, 0x4000, 0x3f00, 0x4080});  // 1, 2, .5, 4
  t.put<std::int64_t>(kModule + ".weight_shape", {2}, {2, 16});
  return t;
}
constexpr QuantScheme kInt4Group8{Code::int4, 1, 8, DType::bf16, true};

// ---- spellings -----------------------------------------------------------------------------------------------------------------

TEST(Bind, Nvfp4InBothSpellingsIsTheSameMatrix) {
  for (const TensorMap& source : {modelopt_nvfp4(), compressed_nvfp4()}) {
    Problems problems;
    const QuantMatrix m = bind_module(source, kNvfp4, 2, 32, problems);
    ASSERT_TRUE(m) << (problems.empty() ? "" : problems[0]);
    EXPECT_EQ(m.global, 0.25f);
    EXPECT_EQ(m.input_scale, 0.125f);
    const std::vector<float> v = decode_all(m);
    EXPECT_EQ(v[0], 0.25f);   // 1 * 1 * .25
    EXPECT_EQ(v[17], 3.0f);   // 6 * 2 * .25
    EXPECT_EQ(v[33], 0.75f);  // 6 * .5 * .25
    EXPECT_EQ(v[63], 0.0f);   // the scale of the block is 0
  }
}

TEST(Bind, Nvfp4WithoutInputScaleIsWeightOnly) {
  TensorMap source = modelopt_nvfp4();
  source.erase(kModule + ".input_scale");
  Problems problems;
  const QuantMatrix m = bind_module(source, kNvfp4, 2, 32, problems);
  ASSERT_TRUE(m);
  EXPECT_EQ(m.input_scale, 0.0f);
}

TEST(Bind, GlobalScalesOfGateAndUpStayTheirOwn) {
  // Two linears of one expert whose second-level scales differ 10 times keep them: nothing is shared or averaged.
  TensorMap source = modelopt_nvfp4();
  const std::string gate = "model.layers.0.mlp.experts.3.gate_proj";
  source.put<std::uint8_t>(gate + ".weight", {2, 16}, std::vector<std::uint8_t>(32, 0x72));
  source.put_bytes<std::uint8_t>(gate + ".weight_scale", DType::f8e4m3, {2, 2}, {0x38, 0x40, 0x30, 0x00});
  source.put<float>(gate + ".weight_scale_2", {1}, {2.5f});
  Problems problems;
  const QuantMatrix up = bind_module(source, kNvfp4, 2, 32, problems);
  const QuantMatrix g = codec_for(kNvfp4).bind(source, gate, kNvfp4, 2, 32, problems);
  ASSERT_TRUE(static_cast<bool>(up) && static_cast<bool>(g));
  const std::vector<float> up_values = decode_all(up), gate_values = decode_all(g);
  for (std::size_t i = 0; i < up_values.size(); ++i) EXPECT_EQ(gate_values[i], 10.0f * up_values[i]) << i;
}

TEST(Bind, Fp8BlocksUnderEitherNameAndAnyTypeOfScale) {
  for (const char* suffix : {".weight_scale_inv", ".weight_scale"}) {
    TensorMap source = fp8_block();
    source.erase(kModule + ".weight_scale_inv");
    source.put_bytes<std::uint16_t>(kModule + suffix, DType::bf16, {2, 2}, {0x3f80, 0x4000, 0x4040, 0x4080});
    Problems problems;
    const QuantMatrix m = bind_module(source, kFp8Block128, 130, 140, problems);
    ASSERT_TRUE(m) << (problems.empty() ? "" : problems[0]);
    EXPECT_EQ(m.scheme.scale, DType::bf16) << "the published type";
    const std::vector<float> v = decode_all(m);
    EXPECT_EQ(v[0], 1.0f);
    EXPECT_EQ(v[127], 1.0f);
    EXPECT_EQ(v[128], 2.0f);
    EXPECT_EQ(v[128 * 140], 3.0f);
    EXPECT_EQ(v[129 * 140 + 139], 4.0f);
  }
}

TEST(Bind, Fp8BlocksWithPowersOfTwoAsBytesOrFloats) {
  QuantScheme scheme = kFp8Block128;
  scheme.scale = DType::f8e8m0;
  TensorMap as_f32 = fp8_block(), as_u8 = fp8_block(), as_e8m0 = fp8_block();
  as_f32.put<float>(kModule + ".weight_scale_inv", {2, 2}, {1, 2, 4, 8});
  as_u8.put<std::uint8_t>(kModule + ".weight_scale_inv", {2, 2}, {127, 128, 129, 130});
  as_e8m0.put_bytes<std::uint8_t>(kModule + ".weight_scale_inv", DType::f8e8m0, {2, 2}, {127, 128, 129, 130});
  std::vector<float> first;
  for (const TensorMap* source : {&as_f32, &as_u8, &as_e8m0}) {
    Problems problems;
    const QuantMatrix m = bind_module(*source, scheme, 130, 140, problems);
    ASSERT_TRUE(m) << (problems.empty() ? "" : problems[0]);
    EXPECT_EQ(m.scheme.scale, source == &as_f32 ? DType::f32 : DType::f8e8m0);
    const std::vector<float> v = decode_all(m);
    EXPECT_EQ(v[129 * 140 + 139], 8.0f);
    if (first.empty()) first = v;
    EXPECT_EQ(v, first);
  }
}

TEST(Bind, Fp8ScalesInEveryShapeThatIsOneThing) {
  const std::vector<std::uint8_t> ones(3 * 4, 0x38);
  const auto source = [&](Shape shape, std::vector<float> scales) {
    TensorMap t;
    t.put_bytes<std::uint8_t>(kModule + ".weight", DType::f8e4m3, {3, 4}, ones);
    t.put<float>(kModule + ".weight_scale", shape, scales);
    return t;
  };
  Problems problems;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}})
    EXPECT_TRUE(bind_module(source(shape, {2}), kFp8Tensor, 3, 4, problems)) << to_string(shape);
  for (const Shape& shape : {Shape{3}, Shape{3, 1}}) {
    const TensorMap t = source(shape, {1, 2, 3});
    const QuantMatrix m = bind_module(t, kFp8Channel, 3, 4, problems);
    ASSERT_TRUE(m) << to_string(shape);
    EXPECT_EQ(decode_all(m), (std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
  }
  QuantScheme blocks = kFp8Block128;
  blocks.scale_rows = blocks.scale_cols = 2;
  const TensorMap t = source({2, 1, 2, 1}, {1, 2, 3, 4});  // as ModelOpt exports FP8_PB_WO
  const QuantMatrix m = bind_module(t, blocks, 3, 4, problems);
  ASSERT_TRUE(m) << (problems.empty() ? "" : problems[0]);
  EXPECT_EQ(decode_all(m), (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_TRUE(refuses(source({4}, {1, 2, 3, 4}), kFp8Channel, 3, 4, ".weight_scale", "[3, 1]"));
  EXPECT_TRUE(refuses(source({1, 3}, {1, 2, 3}), kFp8Tensor, 3, 4, ".weight_scale", "[1, 1]"));
}

TEST(Bind, Mxfp4InEverySpelling) {
  TensorMap packed = mxfp4(), dotted, underscored;
  const std::vector<std::uint8_t> codes(64, 0x72), scales{127, 128, 126, 0};
  dotted.put<std::uint8_t>(kModule + ".blocks", {2, 2, 16}, codes).put<std::uint8_t>(kModule + ".scales", {2, 2}, scales);
  underscored.put<std::uint8_t>(kModule + "_blocks", {2, 2, 16}, codes).put<std::uint8_t>(kModule + "_scales", {2, 2}, scales);
  for (const TensorMap* source : {&packed, &dotted, &underscored}) {
    Problems problems;
    const QuantMatrix m = bind_module(*source, kMxfp4, 2, 64, problems);
    ASSERT_TRUE(m) << (problems.empty() ? "" : problems[0]);
    EXPECT_EQ(m.scales.dtype, DType::f8e8m0);
    EXPECT_EQ(m.codes.shape, (Shape{2, 32}));
    const std::vector<float> v = decode_all(m);
    EXPECT_EQ(v[1], 6.0f);
    EXPECT_EQ(v[33], 12.0f);
    EXPECT_EQ(v[65], 3.0f);
    EXPECT_EQ(v[127], 6.0f * 0x1p-127f);
  }
}

TEST(Bind, Int4WithAndWithoutZeroPoints) {
  Problems problems;
  const TensorMap symmetric = int4();
  const QuantMatrix m = bind_module(symmetric, kInt4Group8, 2, 16, problems);
  ASSERT_TRUE(m) << (problems.empty() ? "" : problems[0]);
  const std::vector<float> v = decode_all(m);
  EXPECT_EQ(v[0], -8.0f);
  EXPECT_EQ(v[11], 14.0f);  // 7 * 2
  EXPECT_EQ(v[28], 12.0f);  // 3 * 4

  TensorMap asymmetric = int4();
  asymmetric.put<std::int32_t>(kModule + ".weight_zero_point", {1, 2}, {0x0000009a, 0x00000080});  // rows (2, 1) and (-8, 0)
  QuantScheme scheme = kInt4Group8;
  scheme.zero_point = true;
  const QuantMatrix z = bind_module(asymmetric, scheme, 2, 16, problems);
  ASSERT_TRUE(z) << (problems.empty() ? "" : problems[0]);
  const std::vector<float> w = decode_all(z);
  EXPECT_EQ(w[0], -10.0f);  // (-8 - 2) * 1
  EXPECT_EQ(w[8], 0.0f);    // (-8 - -8) * 2
  EXPECT_EQ(w[16], -4.5f);  // (-8 - 1) * .5
  EXPECT_EQ(w[28], 12.0f);  // (3 - 0) * 4
}

TEST(Bind, PlainTakesTheTypeOfTheTensor) {
  TensorMap source;
  source.put<float>(kModule + ".weight", {1, 2}, {1.5f, -2.0f});
  Problems problems;
  const QuantMatrix m = bind_module(source, kBf16, 1, 2, problems);
  ASSERT_TRUE(m);
  EXPECT_EQ(m.scheme, kF32);
  source.put_bytes<std::uint16_t>(kModule + ".weight", DType::f16, {1, 2}, {0x3e00, 0xc000});
  const QuantMatrix half = bind_module(source, kBf16, 1, 2, problems);
  EXPECT_EQ(half.scheme, kF16);
  EXPECT_EQ(decode_all(half), (std::vector<float>{1.5f, -2.0f}));
}

// ---- what is refused -----------------------------------------------------------------------------------------------------------

constexpr float kBadScales[] = {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 0.0f, -1.0f,
                                1e-45f};

TEST(Bind, BadScalesAreRefusedByName) {
  for (const float bad : kBadScales) {
    for (const char* suffix : {".weight_scale_2", ".input_scale"}) {
      TensorMap source = modelopt_nvfp4();
      source.put<float>(kModule + suffix, {}, {bad});
      EXPECT_TRUE(refuses(source, kNvfp4, 2, 32, suffix)) << bad;
    }
    for (const char* suffix : {".weight_global_scale", ".input_global_scale"}) {
      TensorMap source = compressed_nvfp4();
      source.put<float>(kModule + suffix, {1}, {bad});
      EXPECT_TRUE(refuses(source, kNvfp4, 2, 32, suffix)) << bad;
    }
    TensorMap fp8 = fp8_block();
    fp8.put<float>(kModule + ".weight_scale_inv", {2, 2}, {1, bad, 1, 1});
    EXPECT_TRUE(refuses(fp8, kFp8Block128, 130, 140, ".weight_scale_inv", "1 of its 4 scales must be finite, above 0")) << bad;
    EXPECT_TRUE(refuses(fp8, kFp8Block128, 130, 140, ".weight_scale_inv", "at [0, 1]")) << bad;
  }
}

TEST(Bind, BadBlockScalesAreRefusedByName) {
  for (const std::uint16_t bits :
       std::initializer_list<std::uint16_t>{0x7f80, 0x7fc0, 0x0000, 0xbf80, 0x0001}) {  // Inf, NaN, 0, -1, subnormal
    TensorMap source = int4();
    source.put_bytes<std::uint16_t>(kModule + ".weight_scale", DType::bf16, {2, 2}, {0x3f80, 0x3f80, 0x3f80, bits});
    EXPECT_TRUE(refuses(source, kInt4Group8, 2, 16, ".weight_scale", "at [1, 1]")) << bits;
  }
  for (const std::uint8_t code : std::initializer_list<std::uint8_t>{0x7f, 0xff, 0x80, 0xb8}) {  // NaN, -NaN, -0, -1
    TensorMap source = modelopt_nvfp4();
    source.put_bytes<std::uint8_t>(kModule + ".weight_scale", DType::f8e4m3, {2, 2}, {0x38, 0x38, code, code});
    EXPECT_TRUE(refuses(source, kNvfp4, 2, 32, ".weight_scale", "2 of its 4 scales must be neither negative nor NaN")) << int{code};
  }
  TensorMap mx = mxfp4();
  mx.put<std::uint8_t>(kModule + ".weight_scale", {2, 2}, {127, 255, 0, 254});
  EXPECT_TRUE(refuses(mx, kMxfp4, 2, 64, ".weight_scale", "1 of its 4 scales must be a power of two"));
}

TEST(Bind, HalfPrecisionScalesMayBeSubnormal) {
  TensorMap source = int4();
  source.put_bytes<std::uint16_t>(kModule + ".weight_scale", DType::f16, {2, 2}, {0x0001, 0x3c00, 0x7bff, 0x0400});
  Problems problems;
  const QuantMatrix m = bind_module(source, kInt4Group8, 2, 16, problems);
  ASSERT_TRUE(m) << problems[0];
  EXPECT_EQ(m.scheme.scale, DType::f16);
  EXPECT_EQ(decode_all(m)[0], -8.0f * 0x1p-24f);
}

TEST(Bind, ShapesAndTypes) {
  TensorMap nvfp4 = modelopt_nvfp4();
  nvfp4.put<std::uint8_t>(kModule + ".weight", {2, 15}, std::vector<std::uint8_t>(30));
  EXPECT_TRUE(refuses(nvfp4, kNvfp4, 2, 32, ".weight", "u8 [2, 15]; expected u8 [2, 16]"));
  TensorMap scale = modelopt_nvfp4();
  scale.put<float>(kModule + ".weight_scale", {2, 2}, {1, 1, 1, 1});
  EXPECT_TRUE(refuses(scale, kNvfp4, 2, 32, ".weight_scale", "expected f8e4m3 [2, 2]"));
  TensorMap global = modelopt_nvfp4();
  global.put<float>(kModule + ".weight_scale_2", {2}, {1, 1});
  EXPECT_TRUE(refuses(global, kNvfp4, 2, 32, ".weight_scale_2", "expected one f32"));
  TensorMap shape = int4();
  shape.put<std::int64_t>(kModule + ".weight_shape", {2}, {2, 15});
  EXPECT_TRUE(refuses(shape, kInt4Group8, 2, 16, ".weight_shape", "holds [2, 15]; expected [2, 16]"));
  TensorMap odd = modelopt_nvfp4();
  odd.put<std::uint8_t>(kModule + ".weight", {2, 12}, std::vector<std::uint8_t>(24));
  odd.put_bytes<std::uint8_t>(kModule + ".weight_scale", DType::f8e4m3, {2, 1}, {0x38, 0x38});
  EXPECT_TRUE(refuses(odd, kNvfp4, 2, 24, "", "a multiple of 16"));
}

TEST(Bind, MissingDoubledAndUnexpectedTensors) {
  TensorMap missing = modelopt_nvfp4();
  missing.erase(kModule + ".weight_scale_2");
  EXPECT_TRUE(refuses(missing, kNvfp4, 2, 32, ".weight_scale_2", "is missing (nor '" + kModule + ".weight_global_scale')"));
  TensorMap doubled = modelopt_nvfp4();
  doubled.put<float>(kModule + ".weight_global_scale", {1}, {4});
  EXPECT_TRUE(refuses(doubled, kNvfp4, 2, 32, ".weight_global_scale", "are both in the checkpoint"));
  TensorMap zero = int4();
  zero.put<std::int32_t>(kModule + ".weight_zero_point", {1, 2}, {0, 0});
  EXPECT_TRUE(refuses(zero, kInt4Group8, 2, 16, ".weight_zero_point", "announces symmetric weights"));
  TensorMap order = int4();
  order.put<std::int32_t>(kModule + ".weight_g_idx", {16}, std::vector<std::int32_t>(16));
  EXPECT_TRUE(refuses(order, kInt4Group8, 2, 16, ".weight_g_idx", "actorder"));
  QuantScheme asymmetric = kInt4Group8;
  asymmetric.zero_point = true;
  EXPECT_TRUE(refuses(int4(), asymmetric, 2, 16, ".weight_zero_point", "is missing"));
  TensorMap unknown = fp8_block();
  unknown.erase(kModule + ".weight_scale_inv");
  unknown.put_unsupported(kModule + ".weight_scale_inv");
  Problems problems;
  EXPECT_FALSE(bind_module(unknown, kFp8Block128, 130, 140, problems));
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("F6_E2M3"), std::string::npos);
}

TEST(Bind, AllProblemsOfALinearAtOnce) {
  TensorMap source;
  source.put<float>(kModule + ".weight", {2, 32}, std::vector<float>(64));
  source.put<float>(kModule + ".input_scale", {}, {-1});
  Problems problems{"an earlier one"};
  EXPECT_FALSE(bind_module(source, kNvfp4, 2, 32, problems));
  EXPECT_EQ(problems.size(), 5u);  // the earlier one, the weight's type, two scales missing, a bad input scale
}

// ---- a real checkpoint ---------------------------------------------------------------------------------------------------------

TEST(Bind, PublishedCheckpointsOfThisTree) {
  const auto root = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures";
  struct Case {
    const char* folder;
    QuantScheme scheme;
    std::int64_t hidden, inter;
  };
  for (const Case& c : {Case{"qwen3_moe-nvfp4-kvfp8", kNvfp4, 256, 128}, Case{"qwen3_moe-fp8block-ragged", kFp8Block128, 208, 144},
                        Case{"qwen3_moe-bf16-sharded", kBf16, 128, 96}}) {
    const auto checkpoint = Checkpoint::open(open_folder(root / c.folder));
    Problems problems;
    double sum = 0;
    for (int e = 0; e < 8; ++e) {
      const std::string expert = "model.layers.1.mlp.experts." + std::to_string(e);
      for (const char* part : {".gate_proj", ".up_proj"})
        for (float v : decode_all(codec_for(c.scheme).bind(*checkpoint, expert + part, c.scheme, c.inter, c.hidden, problems)))
          sum += std::fabs(v);
      for (float v :
           decode_all(codec_for(c.scheme).bind(*checkpoint, expert + ".down_proj", c.scheme, c.hidden, c.inter, problems)))
        sum += std::fabs(v);
    }
    EXPECT_TRUE(problems.empty()) << problems[0];
    EXPECT_GT(sum, 100.0) << c.folder;
    EXPECT_TRUE(std::isfinite(sum)) << c.folder;
  }
}

}  // namespace
}  // namespace conclave
