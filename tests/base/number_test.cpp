// The small floats, exhaustively: every code decoded and all 65536 bf16 values encoded, against tensors made by torch
// (tests/data/fixtures/formats), and the golden vectors of the format specification.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/bf16.h"
#include "base/f16.h"
#include "base/fp4.h"
#include "base/fp8.h"
#include "checkpoint/safetensors_file.h"

namespace conclave {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

float bf16_value(int pattern) { return bf16{static_cast<std::uint16_t>(pattern)}.to_float(); }

class Formats : public testing::Test {
 protected:
  template <class T>
  const T* tensor(std::string_view name, std::int64_t elements) const {
    const auto view = file_.find(name);
    EXPECT_TRUE(view && view->shape.elements() == elements) << name;
    return view->as<T>();
  }

 private:
  SafetensorsFile file_{
      MappedFile::open(std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures/formats/formats.safetensors")};
};

void expect_same(float found, float expected, int code) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(found)) << code;
  else
    EXPECT_EQ(bits_of(found), bits_of(expected)) << code;  // of bits: the sign of zero counts
}

TEST_F(Formats, E4m3Decodes) {
  const float* expected = tensor<float>("e4m3.value", 256);
  for (int code = 0; code < 256; ++code) expect_same(f8e4m3{static_cast<std::uint8_t>(code)}.to_float(), expected[code], code);
}

TEST_F(Formats, E2m1Decodes) {
  const float* expected = tensor<float>("e2m1.value", 16);
  for (int code = 0; code < 16; ++code) expect_same(e2m1{static_cast<std::uint8_t>(code)}.to_float(), expected[code], code);
}

TEST_F(Formats, E8m0Decodes) {
  const float* expected = tensor<float>("e8m0.value", 256);
  for (int code = 0; code < 256; ++code) expect_same(f8e8m0{static_cast<std::uint8_t>(code)}.to_float(), expected[code], code);
}

TEST_F(Formats, EveryBf16Encodes) {
  const auto* e4m3 = tensor<std::uint8_t>("bf16_all.e4m3", 65536);
  const auto* fp4 = tensor<std::uint8_t>("bf16_all.e2m1", 65536);
  const auto* valid = tensor<std::uint8_t>("bf16_all.valid", 65536);
  int compared = 0;
  for (int pattern = 0; pattern < 65536; ++pattern) {
    if (valid[pattern] == 0) continue;  // NaN
    ASSERT_EQ(f8e4m3::from_float(bf16_value(pattern)).bits, e4m3[pattern]) << pattern;
    ASSERT_EQ(e2m1::from_float(bf16_value(pattern)).code, fp4[pattern]) << pattern;
    ++compared;
  }
  EXPECT_EQ(compared, 65536 - 2 * 127);
}

TEST(E4m3, GoldenVectors) {
  constexpr std::pair<float, int> kGolden[] = {
      {0x1p-10f, 0x00},  {0.001f, 0x01},     {0.00146484375f, 0x01}, {0.015625f, 0x08}, {1.0f, 0x38},  {1.0625f, 0x38},
      {1.1875f, 0x3a},   {0.3f, 0x2a},       {17.0f, 0x58},          {18.0f, 0x59},     {19.0f, 0x5a}, {240.0f, 0x77},
      {447.0f, 0x7e},    {448.0f, 0x7e},     {464.0f, 0x7e},         {465.0f, 0x7e},    {1e9f, 0x7e},  {-3.3f, 0xc5},
      {kInfinity, 0x7e}, {-kInfinity, 0xfe}, {-0.0f, 0x80}};
  for (const auto& [value, code] : kGolden) EXPECT_EQ(f8e4m3::from_float(value).bits, code) << value;
  EXPECT_TRUE(std::isnan(f8e4m3::from_float(kNan).to_float()));
  EXPECT_TRUE(std::isnan(f8e4m3::from_float(-kNan).to_float()));
}

TEST(E2m1, GoldenVectors) {
  // The activation block of the specification with scale 1: bytes a1 f5 00 28 c4 76 1a e4, the even element in the low nibble.
  constexpr float kValues[16] = {0.5f, -1.25f, 3, -6, 0.0625f, 0.125f, -0.25f, 1, 2, -2.5f, 4, 5.5f, -0.75f, 0.375f, 1.75f, -3.5f};
  constexpr int kBytes[8] = {0xa1, 0xf5, 0x00, 0x28, 0xc4, 0x76, 0x1a, 0xe4};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(e2m1::from_float(kValues[2 * i]).code | e2m1::from_float(kValues[2 * i + 1]).code << 4, kBytes[i]) << i;
  EXPECT_EQ(e2m1::from_float(kInfinity).code, 7);
  EXPECT_EQ(e2m1::from_float(-1e30f).code, 15);
  EXPECT_EQ(e2m1::from_float(-0.0f).code, 0);
  EXPECT_EQ(e2m1::from_float(-0.1f).code, 8);
}

// By ml_dtypes 0.6 with values clamped to the largest finite one.
TEST(E5m2, GoldenVectors) {
  constexpr std::pair<float, int> kGolden[] = {
      {0.0f, 0x00},      {-0.0f, 0x80},    {1.0f, 0x3c},     {1.125f, 0x3c},     {1.25f, 0x3d},      {1.375f, 0x3e},
      {3.0f, 0x42},      {0x1p-16f, 0x01}, {0x1p-17f, 0x00}, {0x1.8p-17f, 0x01}, {0x1.8p-16f, 0x02}, {0x1p-14f, 0x04},
      {57344.0f, 0x7b},  {61439.0f, 0x7b}, {61440.0f, 0x7b}, {1e9f, 0x7b},       {kInfinity, 0x7b},  {-kInfinity, 0xfb},
      {-57344.0f, 0xfb}, {-3.3f, 0xc3},    {0.1f, 0x2e},     {0x1p-18f, 0x00},   {7.5f, 0x48},       {0.3f, 0x35}};
  for (const auto& [value, code] : kGolden) EXPECT_EQ(f8e5m2::from_float(value).bits, code) << value;
  EXPECT_TRUE(std::isnan(f8e5m2::from_float(kNan).to_float()));
  EXPECT_EQ(f8e5m2{0x7c}.to_float(), kInfinity);
  EXPECT_EQ(f8e5m2{0xfc}.to_float(), -kInfinity);
}

template <class Small>
void expect_round_trip() {
  for (int code = 0; code < 256; ++code) {
    const float value = Small{static_cast<std::uint8_t>(code)}.to_float();
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(Small::from_float(value).bits, code) << value;
  }
}

TEST(MiniFloats, EveryFiniteCodeComesBack) {
  expect_round_trip<f8e4m3>();
  expect_round_trip<f8e5m2>();
  for (std::uint8_t code = 0; code < 16; ++code)
    EXPECT_EQ(e2m1::from_float(e2m1{code}.to_float()).code, code == 8 ? 0 : code);  // -0 encodes as 0
}

TEST(Bf16, RoundsToNearestEvenAndKeepsNan) {
  constexpr std::pair<std::uint32_t, int> kGolden[] = {
      {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81}, {0x3f818000, 0x3f82}, {0x3f817fff, 0x3f81},
      {0x7f7fffff, 0x7f80}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x80000000, 0x8000}, {0x00000001, 0x0000},
      {0x00008001, 0x0001}, {0x7fc00000, 0x7fc0}, {0xffc00000, 0xffc0}, {0x7f800001, 0x7fc0}};
  for (const auto& [from, to] : kGolden) EXPECT_EQ(bf16::from_float(std::bit_cast<float>(from)).bits, to) << std::hex << from;
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const float value = bf16_value(pattern);
    if (!std::isnan(value))
      ASSERT_EQ(bf16::from_float(value).bits, pattern);
    else
      ASSERT_TRUE(std::isnan(bf16::from_float(value).to_float()));
  }
}

TEST(F16, Decodes) {
  constexpr std::pair<int, float> kGolden[] = {
      {0x0000, 0.0f},     {0x8000, -0.0f},    {0x3c00, 1.0f},          {0xc000, -2.0f},     {0x7bff, 65504.0f},
      {0x0400, 0x1p-14f}, {0x0001, 0x1p-24f}, {0x83ff, -0x1.ff8p-15f}, {0x7c00, kInfinity}, {0xfc00, -kInfinity}};
  for (const auto& [pattern, value] : kGolden) expect_same(f16{static_cast<std::uint16_t>(pattern)}.to_float(), value, pattern);
  for (const int pattern : {0x7c01, 0x7e00, 0xffff}) EXPECT_TRUE(std::isnan(f16{static_cast<std::uint16_t>(pattern)}.to_float()));
}

}  // namespace
}  // namespace conclave
