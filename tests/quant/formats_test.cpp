// Decoding and encoding against numbers from outside: fixtures/formats and the golden vectors of the format specification.
#include <gtest/gtest.h>

#include <cmath>

#include "quant/codec.h"
#include "quant/scales.h"
#include "tests/quant/decoded.h"
#include "tests/quant/formats_fixture.h"

namespace conclave {
namespace {

// Equal as numbers, so that -0 equals 0; counts rather than one failure per value.
std::int64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::int64_t different = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) different += a[i] == b[i] ? 0 : 1;
  return different;
}

QuantMatrix matrix_of(const QuantScheme& scheme, ConstTensorView codes, std::int64_t cols, ConstTensorView scales) {
  QuantMatrix m;
  m.scheme = scheme;
  m.rows = codes.shape[0];
  m.cols = cols;
  m.codes = codes;
  m.scales = scales;
  return m;
}

TEST_F(FormatsFixture, Nvfp4DecodesAndEncodesEveryByte) {
  QuantMatrix published = matrix_of(kNvfp4, view("nvfp4.packed"), 16, view_as("nvfp4.scale", DType::f8e4m3));
  published.global = load_float(view("nvfp4.global_scale"), 0);
  EXPECT_EQ(differing(decode_all(published), floats("nvfp4.dequant")), 0);

  const OwnedMatrix ours = codec_for(kNvfp4).encode(floats("nvfp4.x"), 4096, 16, kNvfp4);
  EXPECT_EQ(ours.matrix.global, published.global);
  EXPECT_EQ(differing_bytes(ours.matrix.codes, published.codes), 0);
  EXPECT_EQ(differing_bytes(ours.matrix.scales, view("nvfp4.scale")), 0);
}

TEST_F(FormatsFixture, Nvfp4ActivationsSaturateTheirBlockScale) {
  std::vector<float> x = floats("nvfp4.x");
  codec_for(kNvfp4).quantize_activation_row(kNvfp4Activation, load_float(view("nvfp4.act.input_scale"), 0), x);
  EXPECT_EQ(differing(x, floats("nvfp4.act.dequant")), 0);
}

TEST_F(FormatsFixture, Fp8GroupsOf128) {
  QuantScheme rows_of_128 = kFp8Channel;
  rows_of_128.scale_cols = 128;
  const QuantMatrix published = matrix_of(rows_of_128, view_as("fp8g.q", DType::f8e4m3), 128, view("fp8g.scale"));
  EXPECT_EQ(differing(decode_all(published), floats("fp8g.dequant")), 0);

  std::vector<float> x = floats("fp8g.x");
  codec_for(kFp8Token128).quantize_activation_row(kFp8Token128, 0.0f, x);
  EXPECT_EQ(differing(x, floats("fp8g.dequant")), 0);
}

TEST_F(FormatsFixture, Fp8BlocksWithRaggedEdges) {
  const QuantMatrix published = matrix_of(kFp8Block128, view_as("fp8b.q", DType::f8e4m3), 200, view("fp8b.scale_inv"));
  EXPECT_EQ(differing(decode_all(published), floats("fp8b.dequant")), 0);

  const OwnedMatrix ours = codec_for(kFp8Block128).encode(floats("fp8b.w"), 300, 200, kFp8Block128);
  EXPECT_EQ(differing_bytes(ours.matrix.codes, view("fp8b.q")), 0);
  EXPECT_EQ(differing_bytes(ours.matrix.scales, view("fp8b.scale_inv")), 0);
}

TEST_F(FormatsFixture, Mxfp4DecodesAndEncodesEveryByte) {
  ConstTensorView scales = view_as("mxfp4.scales", DType::f8e8m0);
  scales = ConstTensorView{scales.data, DType::f8e8m0, {4096, 1}};
  EXPECT_EQ(differing(decode_all(matrix_of(kMxfp4, view("mxfp4.blocks"), 32, scales)), floats("mxfp4.dequant")), 0);

  const OwnedMatrix ours = codec_for(kMxfp4).encode(floats("mxfp4.x"), 4096, 32, kMxfp4);
  EXPECT_EQ(differing_bytes(ours.matrix.codes, view("mxfp4.blocks")), 0);
  EXPECT_EQ(differing_bytes(ours.matrix.scales, view("mxfp4.scales")), 0);
}

class Int4Fixture : public FormatsFixture, public ::testing::WithParamInterface<std::pair<int, bool>> {};

TEST_P(Int4Fixture, DecodesAndEncodesEveryByte) {
  const auto [group, zero_point] = GetParam();
  const QuantScheme scheme{Code::int4, 1, static_cast<std::int16_t>(group), DType::bf16, true, false, zero_point};
  const std::string name = "w4.g" + std::to_string(group) + (zero_point ? ".asym." : ".sym.");
  QuantMatrix published = matrix_of(scheme, view(name + "weight_packed"), 256, view(name + "weight_scale"));
  if (zero_point) published.zeros = view(name + "weight_zero_point");

  const OwnedMatrix ours = codec_for(scheme).encode(floats("w4.w"), 64, 256, scheme);
  EXPECT_EQ(differing_bytes(ours.matrix.codes, published.codes), 0);
  EXPECT_EQ(differing_bytes(ours.matrix.scales, published.scales), 0);
  if (zero_point) {
    EXPECT_EQ(differing_bytes(ours.matrix.zeros, published.zeros), 0);
  }
  EXPECT_EQ(differing(decode_all(published), floats(name + "dequant")), 0);
}
INSTANTIATE_TEST_SUITE_P(All, Int4Fixture,
                         ::testing::Values(std::pair(32, false), std::pair(32, true), std::pair(128, false), std::pair(128, true)));

// ---- golden vectors ------------------------------------------------------------------------------------------------------------

constexpr float kBlockX[16] = {0.5f, -1.25f, 3, -6, 0.0625f, 0.125f, -0.25f, 1, 2, -2.5f, 4, 5.5f, -0.75f, 0.375f, 1.75f, -3.5f};

TEST(GoldenVectors, E4m3RoundsToNearestEvenAndSaturates) {
  const std::pair<float, int> kCases[] = {{0x1p-10f, 0x00},  {0.001f, 0x01}, {0.00146484375f, 0x01},
                                          {0.015625f, 0x08}, {1.0f, 0x38},   {1.0625f, 0x38},
                                          {1.1875f, 0x3a},   {0.3f, 0x2a},   {17, 0x58},
                                          {18, 0x59},        {19, 0x5a},     {240, 0x77},
                                          {447, 0x7e},       {448, 0x7e},    {464, 0x7e},
                                          {465, 0x7e},       {1e9f, 0x7e},   {-3.3f, 0xc5}};
  for (const auto& [value, code] : kCases) EXPECT_EQ(f8e4m3::from_float(value).bits, code) << value;
}

TEST(GoldenVectors, Nvfp4ActivationBlock) {
  struct Case {
    float input_scale;
    float expected[16];
  };
  const float u = 256.0f * 10.0f / 2688.0f;
  const Case kCases[] = {
      {1.0f, {.5f, -1, 3, -6, 0, 0, 0, 1, 2, -2, 4, 6, -1, .5f, 2, -4}},
      {1.0f / 448.0f, {.5f, -1, 3, -6, 0, 0, 0, 1, 2, -2, 4, 6, -1, .5f, 2, -4}},
      {10.0f / 2688.0f,
       {.5f * u, -1.5f * u, 3 * u, -6 * u, 0, 0, -.5f * u, 1 * u, 2 * u, -3 * u, 4 * u, 6 * u, -1 * u, .5f * u, 2 * u, -4 * u}}};
  for (const Case& c : kCases) {
    std::vector<float> x(std::begin(kBlockX), std::end(kBlockX));
    codec_for(kNvfp4).quantize_activation_row(kNvfp4Activation, c.input_scale, x);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(x[i], c.expected[i], 1e-6f) << "scale " << c.input_scale << " element " << i;
  }
  std::vector<float> zeros(16, 0.0f);
  codec_for(kNvfp4).quantize_activation_row(kNvfp4Activation, 1.0f, zeros);
  EXPECT_EQ(zeros, std::vector<float>(16, 0.0f));
}

TEST(GoldenVectors, Nvfp4BlockBelowTheSmallestScaleBecomesZero) {
  std::vector<float> x(16, 6.0f * 0x1p-10f);  // block scale 2^-10: the tie goes to the even code, 0
  codec_for(kNvfp4).quantize_activation_row(kNvfp4Activation, 1.0f, x);
  EXPECT_EQ(x, std::vector<float>(16, 0.0f));
  std::vector<float> y(16, 6.0f * 0x1.8p-10f);
  codec_for(kNvfp4).quantize_activation_row(kNvfp4Activation, 1.0f, y);
  EXPECT_EQ(y, std::vector<float>(16, 4.0f * 0x1p-9f));  // 6 * 1.5 * 2^-10 in steps of 2^-9 is 4.5, which rounds to 4
}

TEST(GoldenVectors, Int4Word) {
  const int values[8] = {-8, -1, 0, 7, 3, -5, 1, 2};
  std::int32_t word = -1455687568;  // 0xa93bf870
  const float one = 1.0f;
  QuantScheme scheme = kInt4Group128;
  scheme.scale_cols = 0;
  scheme.scale = DType::f32;
  QuantMatrix m = matrix_of(scheme, {reinterpret_cast<const std::byte*>(&word), DType::i32, {1, 1}}, 8,
                            {reinterpret_cast<const std::byte*>(&one), DType::f32, {1, 1}});
  const std::vector<float> decoded = decode_all(m);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(decoded[i], static_cast<float>(values[i])) << i;
}

TEST(GoldenVectors, Fp8ActivationGroup) {
  const float s = 0.0066964291f;
  std::vector<float> x = {0.1f, -2, 3, 0, 0.017f};
  codec_for(kFp8Token128).quantize_activation_row(kFp8Token128, 0.0f, x);
  const std::uint8_t plain[5] = {0x57, 0xf9, 0x7e, 0x00, 0x42};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(x[i], f8e4m3{plain[i]}.to_float() * s, 1e-6f) << i;

  QuantScheme power_of_two = kFp8Token128;
  power_of_two.scale = DType::f8e8m0;
  x = {0.1f, -2, 3, 0, 0.017f};
  codec_for(power_of_two).quantize_activation_row(power_of_two, 0.0f, x);
  const std::uint8_t rounded[5] = {0x55, 0xf8, 0x7c, 0x00, 0x41};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(x[i], f8e4m3{rounded[i]}.to_float() * 0x1p-7f) << i;
}

TEST(GoldenVectors, MxScaleOfTheRunTimeRule) {
  const std::pair<float, int> kCases[] = {{6.0f, 127}, {6.99f, 127}, {7.0f, 128}, {1.0f, 125},
                                          {1.7f, 125}, {1.75f, 126}, {0.01f, 118}};
  for (const auto& [amax, code] : kCases) EXPECT_EQ(mx_scale(amax, 2), code) << amax;
  EXPECT_EQ(mx_scale(0.0f, 2), 0);
}

TEST(GoldenVectors, PowerOfTwoScalesRoundUp) {
  EXPECT_EQ(e8m0_at_least(1.0f), 127);
  EXPECT_EQ(e8m0_at_least(std::nextafter(1.0f, 2.0f)), 128);
  EXPECT_EQ(e8m0_at_least(0.0066964291f), 120);
  EXPECT_EQ(e8m0_at_least(std::numeric_limits<float>::max()), 254);
}

}  // namespace
}  // namespace conclave
