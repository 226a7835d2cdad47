#include "engine/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/fake_model.h"

namespace conclave {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Logprobs, AreTheLogSoftmax) {
  std::vector<float> logits(1000);
  const std::int32_t tokens[] = {4, 2};
  testing::fake_logits(tokens, logits);
  double sum = 0.0;
  for (float l : logits) sum += std::exp(double{l});
  LogprobReader reader(1000);
  reader.read(logits);
  for (std::int32_t id = 0; id < 1000; ++id) {
    EXPECT_NEAR(reader.of(id).logprob, double{logits[static_cast<std::size_t>(id)]} - std::log(sum), 2e-6);
  }
}

TEST(Logprobs, TopIsSortedTiesByIdAndHasTheSameValues) {
  const std::vector<float> logits{1.0f, 4.0f, -2.0f, 4.0f, 3.0f};
  LogprobReader reader(5);
  reader.read(logits);
  const auto top = reader.top(3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].id, 1);
  EXPECT_EQ(top[1].id, 3);
  EXPECT_EQ(top[2].id, 4);
  for (const TokenLogprob& t : top) EXPECT_EQ(t.logprob, reader.of(t.id).logprob);  // clients compare with ==
  EXPECT_EQ(reader.top(0).size(), 0u);
  EXPECT_EQ(reader.top(99).size(), 5u);
}

TEST(Logprobs, B087_AreFiniteWhateverTheLogits) {
  const std::vector<std::vector<float>> cases{
      {-kInfinity, 2.0f, -kInfinity}, {std::nanf(""), 0.0f, 1.0f},          {kInfinity, 0.0f, 1.0f},
      {3e38f, -3e38f, 0.0f},          {-kInfinity, -kInfinity, -kInfinity}, {std::nanf(""), std::nanf(""), std::nanf("")}};
  for (const auto& logits : cases) {
    LogprobReader reader(3);
    reader.read(logits);
    for (std::int32_t id = 0; id < 3; ++id) {
      const float v = reader.of(id).logprob;
      EXPECT_TRUE(v >= kLogprobFloor && v <= 0.0f) << v;
    }
    for (const TokenLogprob& t : reader.top(3)) EXPECT_TRUE(t.logprob >= kLogprobFloor && t.logprob <= 0.0f) << t.logprob;
  }
  LogprobReader reader(3);
  reader.read(cases[0]);
  EXPECT_EQ(reader.of(0).logprob, kLogprobFloor);
  EXPECT_EQ(reader.of(1).logprob, 0.0f);
}

}  // namespace
}  // namespace conclave
