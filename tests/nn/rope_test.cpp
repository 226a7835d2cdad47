#include "nn/rope.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "conclave/error.h"

namespace conclave {
namespace {

TEST(Rope, DefaultFrequenciesArePowersOfTheta) {
  const RopeFrequencies f = rope_frequencies({}, 8);
  ASSERT_EQ(f.inv_freq.size(), 4u);
  const float expected[] = {1.0f, 0.1f, 0.01f, 0.001f};  // 10000^(-2i/8)
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(f.inv_freq[static_cast<std::size_t>(i)], expected[i]);
  EXPECT_EQ(f.magnitude, 1.0f);
}

// Llama 3.1: of 64 frequencies 29 are untouched, 6 blended, 29 divided by 8.
TEST(Rope, Llama3TouchesTheRightFrequencies) {
  RopeConfig c;
  c.theta = 500000;
  const RopeFrequencies plain = rope_frequencies(c, 128);
  c.type = "llama3";
  c.factor = 8;
  c.low_freq_factor = 1;
  c.high_freq_factor = 4;
  c.original_max_positions = 8192;
  const RopeFrequencies scaled = rope_frequencies(c, 128);
  int same = 0, divided = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    same += scaled.inv_freq[i] == plain.inv_freq[i];
    divided += scaled.inv_freq[i] == plain.inv_freq[i] / 8;
  }
  EXPECT_EQ(same, 29);
  EXPECT_EQ(divided, 29);
}

// gpt-oss: YaRN with a ramp that is not rounded.
TEST(Rope, YarnWithoutTruncation) {
  RopeConfig c;
  c.type = "yarn";
  c.theta = 150000;
  c.factor = 32;
  c.original_max_positions = 4096;
  c.truncate = false;
  const RopeFrequencies f = rope_frequencies(c, 64);
  EXPECT_NEAR(f.inv_freq[8], .0508133, 1e-7);
  EXPECT_NEAR(f.inv_freq[9], .0317057, 1e-7);
  EXPECT_NEAR(f.inv_freq[12], .00679496, 1e-8);
  EXPECT_NEAR(f.inv_freq[17], 1.29319e-4, 1e-9);
  EXPECT_NEAR(f.inv_freq[18], 3.83088e-5, 1e-10);
  EXPECT_NEAR(f.magnitude, 1.3465736, 1e-6);
}

// DeepSeek-V3: both mscales are 1, so their quotient is, and the ramp runs from 10 to 23 of 32.
TEST(Rope, YarnWithBothMscales) {
  RopeConfig c;
  c.type = "yarn";
  c.factor = 40;
  c.original_max_positions = 4096;
  c.mscale = c.mscale_all_dim = 1;
  const RopeFrequencies f = rope_frequencies(c, 64);
  EXPECT_FLOAT_EQ(f.inv_freq[0], 1.0f);
  EXPECT_NEAR(f.inv_freq[10], .0562341, 1e-7);
  EXPECT_NEAR(f.inv_freq[16], .0055, 1e-6);
  EXPECT_NEAR(f.inv_freq[23], 3.3338e-5, 1e-9);
  EXPECT_NEAR(f.inv_freq[31], 3.3338e-6, 1e-10);
  EXPECT_EQ(f.magnitude, 1.0f);
  EXPECT_NEAR(yarn_mscale(40, 1), 1.368888, 1e-6);
}

// Numbers of _compute_longrope_parameters in transformers 5.24 for these parameters, at sequence lengths 4096 and 4097.
RopeConfig longrope() {
  RopeConfig c;
  c.type = "longrope";
  c.factor = 32;  // 131072 / 4096
  c.original_max_positions = 4096;
  c.short_factor = {1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0};
  c.long_factor = {1.0, 1.3, 2.0, 3.5, 6.0, 11.0, 20.0, 32.0};
  return c;
}

TEST(Rope, LongropeDividesByTheFactorsOfTheLongestContext) {
  const float at_trained_length[] = {1.0f,           0.301169306f,   0.0909090936f,   0.0263523124f,
                                     0.00740740728f, 0.00210818532f, 0.000571428565f, 0.000158113893f};
  const float beyond[] = {1.0f,           0.243252128f,    0.0500000007f,   0.00903507881f,
                          0.00166666671f, 0.000287479779f, 4.99999987e-05f, 9.88211832e-06f};
  RopeConfig c = longrope();
  for (const auto& [context, expected] : {std::pair{4096, at_trained_length}, std::pair{4097, beyond}}) {
    c.longest_context = context;
    const RopeFrequencies f = rope_frequencies(c, 16);
    ASSERT_EQ(f.inv_freq.size(), 8u);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(f.inv_freq[i], expected[i]) << context << ", " << i;
    EXPECT_FLOAT_EQ(f.magnitude, 1.1902380714238083f);
  }
}

TEST(Rope, LongropeScalesByItsFactorUnlessToldOtherwise) {
  RopeConfig c = longrope();
  c.factor = 8;
  EXPECT_FLOAT_EQ(rope_frequencies(c, 16).magnitude, 1.118033988749895f);
  c.factor = 1;
  EXPECT_EQ(rope_frequencies(c, 16).magnitude, 1.0f);
  c.attention_factor = 1.25;
  EXPECT_EQ(rope_frequencies(c, 16).magnitude, 1.25f);
}

TEST(Rope, LongropeNeedsAFactorPerPair) {
  RopeConfig c = longrope();
  c.long_factor.pop_back();
  try {
    rope_frequencies(c, 16);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::unsupported);
    EXPECT_NE(std::string(e.what()).find("long_factor of longrope has 7 values; expected 8"), std::string::npos) << e.what();
  }
}

TEST(Rope, AnUnknownTypeIsRefusedByName) {
  RopeConfig c;
  c.type = "spiral";
  try {
    rope_frequencies(c, 64);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::unsupported);
    EXPECT_NE(std::string(e.what()).find("spiral"), std::string::npos);
  }
}

}  // namespace
}  // namespace conclave
