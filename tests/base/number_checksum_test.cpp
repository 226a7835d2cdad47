// Conversions over wide ranges against checksums of what numpy and ml_dtypes give (make_checksums.py).
#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/bf16.h"
#include "base/f16.h"
#include "base/fp4.h"
#include "base/fp8.h"

namespace conclave {
namespace {

template <class T>
std::uint32_t checksum(const std::vector<T>& values) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(values.data()), static_cast<uInt>(values.size() * sizeof(T))));
}

template <class T, class Function>
std::uint32_t checksum_of(int count, Function value_at) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(value_at(static_cast<std::uint32_t>(i)));
  return checksum(values);
}

float without_nan(float value) { return std::isnan(value) ? 0.0f : value; }
// Bit patterns spread over all floats; NaN becomes 0.
float scattered(std::uint32_t i) { return without_nan(std::bit_cast<float>(i * 2654435761u)); }
// Spread over [0, 2^24) times `step`, plus `first`.
float spread(std::uint32_t i, float step, float first) { return static_cast<float>((i * 2654435761u) >> 8) * step + first; }

constexpr int kMillion = 1 << 20;

TEST(NumberChecksum, F16DecodesAllPatterns) {
  EXPECT_EQ(checksum_of<float>(65536, [](std::uint32_t i) { return without_nan(f16{static_cast<std::uint16_t>(i)}.to_float()); }),
            0xef9d25e2u);
}

TEST(NumberChecksum, E5m2DecodesAllCodes) {
  EXPECT_EQ(checksum_of<float>(256, [](std::uint32_t i) { return without_nan(f8e5m2{static_cast<std::uint8_t>(i)}.to_float()); }),
            0xd73df2eau);
}

TEST(NumberChecksum, E5m2EncodesEveryBf16) {
  const auto code = [](std::uint32_t i) {
    return f8e5m2::from_float(without_nan(bf16{static_cast<std::uint16_t>(i)}.to_float())).bits;
  };
  EXPECT_EQ(checksum_of<std::uint8_t>(65536, code), 0x25c6aba9u);
}

TEST(NumberChecksum, EncodingOfScatteredFloats) {
  EXPECT_EQ(checksum_of<std::uint16_t>(kMillion, [](std::uint32_t i) { return bf16::from_float(scattered(i)).bits; }), 0xe3f1007eu);
  EXPECT_EQ(checksum_of<std::uint8_t>(kMillion, [](std::uint32_t i) { return f8e4m3::from_float(scattered(i)).bits; }),
            0xab770ac2u);
  EXPECT_EQ(checksum_of<std::uint8_t>(kMillion, [](std::uint32_t i) { return f8e5m2::from_float(scattered(i)).bits; }),
            0xd1ceaed7u);
}

TEST(NumberChecksum, EncodingNearZeroAndOfFours) {
  EXPECT_EQ(
      checksum_of<std::uint8_t>(kMillion, [](std::uint32_t i) { return f8e4m3::from_float(spread(i, 0x1p-27f, -0.0625f)).bits; }),
      0xf8f0ed0du);
  EXPECT_EQ(checksum_of<std::uint8_t>(kMillion, [](std::uint32_t i) { return e2m1::from_float(spread(i, 0x1p-20f, -8.0f)).code; }),
            0xb404caffu);
}

}  // namespace
}  // namespace conclave
