// encode() then decode_row() for every format and sizes off the blocks; views with strides; the errors a format promises.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "conclave/error.h"
#include "quant/codec.h"
#include "tests/quant/decoded.h"

namespace conclave {
namespace {

std::vector<float> random_values(std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<std::size_t>(n));
  for (float& v : out) v = normal(engine);
  return out;
}

struct RoundTrip {
  QuantScheme scheme;
  std::int64_t rows, cols;
  double largest_error;  // rms of the error over rms of the values
};

QuantScheme with_scale(QuantScheme s, DType scale) {
  s.scale = scale;
  return s;
}
QuantScheme with_group(QuantScheme s, std::int16_t cols) {
  s.scale_cols = cols;
  return s;
}

// Bounds: half a step of the element type, relative: 2^-9 (bf16), 2^-4 / sqrt(3) (E4M3), about 0.11 (E2M1), 0.15 (4-bit integers).
const RoundTrip kRoundTrips[] = {
    {kF32, 3, 5, 0},
    {kBf16, 3, 5, 0.003},
    {kFp8Tensor, 5, 7, 0.04},
    {kFp8Channel, 5, 7, 0.04},
    {kFp8Block128, 1, 1, 0.07},
    {kFp8Block128, 130, 257, 0.04},
    {with_scale(kFp8Block128, DType::f8e8m0), 130, 129, 0.04},
    {with_scale(kFp8Block128, DType::bf16), 130, 129, 0.04},
    {{Code::f8e4m3, 1, 32, DType::f8e8m0, true}, 5, 70, 0.04},
    {kNvfp4, 1, 16, 0.14},
    {kNvfp4, 7, 48, 0.14},
    {kMxfp4, 7, 96, 0.15},
    {kInt4Group128, 9, 256, 0.16},
    {kInt4Group128Zero, 9, 256, 0.16},
    {kInt4Group128Zero, 11, 200, 0.16},
    {with_group(kInt4Group128, 32), 3, 100, 0.16},
    {with_group(kInt4Group128, 0), 3, 13, 0.16},
    {with_group(kInt4Group128Zero, 5), 17, 13, 0.16},
    {with_scale(kInt4Group128Zero, DType::f32), 9, 130, 0.16},
};

TEST(RoundTrip, EveryFormatStaysWithinItsPrecision) {
  unsigned seed = 1;
  for (const RoundTrip& c : kRoundTrips) {
    const std::vector<float> values = random_values(c.rows * c.cols, seed++);
    const OwnedMatrix owned = codec_for(c.scheme).encode(values, c.rows, c.cols, c.scheme);
    EXPECT_EQ(owned.matrix.scheme, c.scheme);
    const std::vector<float> decoded = decode_all(owned.matrix);
    double error = 0, power = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      error += std::pow(static_cast<double>(decoded[i]) - values[i], 2);
      power += std::pow(static_cast<double>(values[i]), 2);
    }
    EXPECT_LE(std::sqrt(error / power), c.largest_error) << to_string(c.scheme) << " [" << c.rows << ", " << c.cols << "]";
  }
}

TEST(RoundTrip, DecodedValuesEncodeToTheSameCodes) {
  for (const RoundTrip& c : kRoundTrips) {
    if (c.scheme.code == Code::int4 || c.scheme.scale == DType::bf16) continue;  // their scale depends on more than the codes
    const OwnedMatrix first = codec_for(c.scheme).encode(random_values(c.rows * c.cols, 77), c.rows, c.cols, c.scheme);
    const std::vector<float> values = decode_all(first.matrix);
    const OwnedMatrix second = codec_for(c.scheme).encode(values, c.rows, c.cols, c.scheme);
    const std::vector<float> again = decode_all(second.matrix);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(again[i], values[i], 1e-6f * std::fabs(values[i])) << to_string(c.scheme) << " " << i;
  }
}

TEST(RoundTrip, ZerosStayZerosWithUsableScales) {
  for (const RoundTrip& c : kRoundTrips) {
    const std::vector<float> zeros(static_cast<std::size_t>(c.rows * c.cols), 0.0f);
    const OwnedMatrix owned = codec_for(c.scheme).encode(zeros, c.rows, c.cols, c.scheme);
    EXPECT_EQ(decode_all(owned.matrix), zeros) << to_string(c.scheme);
    EXPECT_GT(owned.matrix.global, 0.0f);
  }
}

TEST(RoundTrip, ActivationsOfEveryDynamicScheme) {
  QuantScheme mxfp4 = kMxfp4, ue8m0 = kFp8Token128;
  mxfp4.dynamic = true;
  ue8m0.scale = DType::f8e8m0;
  const std::pair<QuantScheme, double> cases[] = {{kFp8Token128, 0.04},
                                                  {kFp8TokenDynamic, 0.04},
                                                  {ue8m0, 0.04},
                                                  {mxfp4, 0.16},
                                                  {kBf16, 0.003},
                                                  {kF32, 0},
                                                  {{Code::f8e4m3, 1, 32, DType::f8e8m0, true, false, false, true}, 0.04}};
  for (const auto& [scheme, largest] : cases) {
    for (const std::size_t n : {1u, 31u, 128u, 200u}) {
      const std::vector<float> x = random_values(static_cast<std::int64_t>(n), 5);
      std::vector<float> y = x;
      codec_for(scheme).quantize_activation_row(scheme, 0.0f, y);
      double error = 0, power = 0;
      for (std::size_t i = 0; i < n; ++i) {
        error += std::pow(static_cast<double>(y[i]) - x[i], 2);
        power += std::pow(static_cast<double>(x[i]), 2);
      }
      EXPECT_LE(std::sqrt(error / power), n == 1 ? 2 * largest + 0.02 : largest) << to_string(scheme) << " " << n;
    }
    std::vector<float> zeros(64, 0.0f);
    codec_for(scheme).quantize_activation_row(scheme, 0.0f, zeros);
    EXPECT_EQ(zeros, std::vector<float>(64, 0.0f)) << to_string(scheme);
  }
}

TEST(RoundTrip, StaticPerTensorActivations) {
  std::vector<float> x = {0.3f, -3.3f, 500.0f, 17.0f};
  codec_for(kFp8TensorStatic).quantize_activation_row(kFp8TensorStatic, 0.5f, x);
  // In steps of 0.5: 0.6 is 0.625, -6.6 is -6.5, 1000 saturates at 448, 34 lies between 32 and 36 and goes to the even code.
  EXPECT_EQ(x, (std::vector<float>{0.3125f, -3.25f, 224.0f, 16.0f}));
}

// ---- strides -------------------------------------------------------------------------------------------------------------------

TEST(Strides, InterleavedRows) {  // gate and up of gpt-oss: rows 0, 2, 4, ... and 1, 3, 5, ...
  for (const QuantScheme& scheme : {kMxfp4, kNvfp4, kFp8Channel, kBf16}) {
    const OwnedMatrix owned = codec_for(scheme).encode(random_values(6 * 64, 9), 6, 64, scheme);
    const std::vector<float> all = decode_all(owned.matrix);
    for (std::int64_t half = 0; half < 2; ++half) {
      QuantMatrix m = owned.matrix;
      m.rows = 3;
      for (ConstTensorView* v : {&m.codes, &m.scales}) {
        if (!*v) continue;
        v->data += half * v->stride[0] * size_of(v->dtype);
        v->shape = Shape{3, v->shape[1]};
        v->stride[0] *= 2;
      }
      const std::vector<float> rows = decode_all(m);
      for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t k = 0; k < 64; ++k)
          ASSERT_EQ(rows[r * 64 + k], all[(2 * r + static_cast<std::size_t>(half)) * 64 + k]) << to_string(scheme);
    }
  }
}

// The same matrix stored column by column: Llama-4's stacked experts [in / 2, out].
TEST(Strides, Transposed) {
  for (const QuantScheme& scheme : {kMxfp4, kNvfp4, kFp8Block128, kF32}) {
    const OwnedMatrix owned = codec_for(scheme).encode(random_values(6 * 64, 10), 6, 64, scheme);
    std::vector<std::vector<std::byte>> kept;
    QuantMatrix m = owned.matrix;
    for (ConstTensorView* v : {&m.codes, &m.scales}) {
      if (!*v) continue;
      const std::int64_t rows = v->shape[0], cols = v->shape[1];
      const auto size = static_cast<std::int64_t>(size_of(v->dtype));
      std::vector<std::byte> turned(static_cast<std::size_t>(v->bytes()));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
          std::copy_n(v->data + (r * cols + c) * size, size, turned.begin() + (c * rows + r) * size);
      kept.push_back(std::move(turned));
      v->data = kept.back().data();
      v->stride = {1, rows, 0, 0};
    }
    EXPECT_EQ(decode_all(m), decode_all(owned.matrix)) << to_string(scheme);
  }
}

// ---- names and refusals --------------------------------------------------------------------------------------------------------

TEST(Scheme, NamesAreShortAndDiffer) {
  const std::pair<QuantScheme, const char*> cases[] = {{kF32, "f32"},
                                                       {kF16, "f16"},
                                                       {kBf16, "bf16"},
                                                       {kFp8Tensor, "fp8_tensor"},
                                                       {kFp8Channel, "fp8_channel"},
                                                       {kFp8Block128, "fp8_block128"},
                                                       {kNvfp4, "nvfp4"},
                                                       {kMxfp4, "mxfp4"},
                                                       {kInt4Group128, "int4_g128"},
                                                       {kInt4Group128Zero, "int4_g128_zp"},
                                                       {kFp8Token128, "fp8_token128"},
                                                       {kFp8TokenDynamic, "fp8_token"},
                                                       {with_group(kInt4Group128, 0), "int4_channel"},
                                                       {with_scale(kInt4Group128, DType::f16), "int4_g128_f16"},
                                                       {with_scale(kFp8Block128, DType::f8e8m0), "fp8_block128_ue8m0"},
                                                       {with_group(kFp8Block128, 64), "fp8_block128x64"},
                                                       {{Code::f8e4m3, 1, 32, DType::f8e8m0, true}, "mxfp8"},
                                                       {{Code::e2m1, 1, 8, DType::f32, true}, "e2m1, f32 scale per 1x8"}};
  for (const auto& [scheme, name] : cases) EXPECT_EQ(to_string(scheme), name);
}

TEST(Codecs, OneForEachSchemeAndNoneForNonsense) {
  EXPECT_EQ(all_codecs().size(), 5u);
  for (const RoundTrip& c : kRoundTrips) {
    int handlers = 0;
    for (const Codec* codec : all_codecs()) handlers += codec->handles(c.scheme) ? 1 : 0;
    EXPECT_EQ(handlers, 1) << to_string(c.scheme);
  }
  try {
    codec_for({Code::e2m1, 1, 8, DType::f32, true});
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::unsupported);
    EXPECT_NE(std::string(e.what()).find("e2m1, f32 scale per 1x8"), std::string::npos);
  }
}

TEST(Encode, RefusesWhatAFormatCannotHold) {
  const std::vector<float> values(24, 1.0f);
  EXPECT_THROW(codec_for(kNvfp4).encode(values, 1, 24, kNvfp4), Error);
  EXPECT_THROW(codec_for(kMxfp4).encode(values, 1, 24, kMxfp4), Error);
  EXPECT_THROW(codec_for(kF16).encode(values, 1, 24, kF16), Error);
  std::vector<float> bad(32, 1.0f);
  for (const float v : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    bad[17] = v;
    for (const QuantScheme& s : {kBf16, kFp8Block128, kNvfp4, kMxfp4, kInt4Group128})
      EXPECT_THROW(codec_for(s).encode(bad, 1, 32, s), Error) << to_string(s);
  }
}

}  // namespace
}  // namespace conclave
