#include "base/math.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Math, CeilDivAndRoundUp) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(1, 4), 1);
  EXPECT_EQ(ceil_div(8, 4), 2);
  EXPECT_EQ(ceil_div(9, 4), 3);
  EXPECT_EQ(ceil_div(kMost, std::int64_t{2}), kMost / 2 + 1);  // does not overflow on the way
  EXPECT_EQ(round_up(9, 4), 12);
  EXPECT_EQ(round_up(8, 4), 8);
}

TEST(Math, CheckedMul) {
  EXPECT_EQ(checked_mul(3, 4), 12);
  EXPECT_EQ(checked_mul(0, kMost), 0);
  EXPECT_EQ(checked_mul(kMost, 0), 0);
  EXPECT_EQ(checked_mul(kMost, 1), kMost);
  EXPECT_EQ(checked_mul(kMost, 2), std::nullopt);
  EXPECT_EQ(checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul((std::int64_t{1} << 31) - 1, std::int64_t{1} << 32), ((std::int64_t{1} << 31) - 1) << 32);
  EXPECT_EQ(checked_mul(-1, 1), std::nullopt);
  EXPECT_EQ(checked_mul(1, -1), std::nullopt);
}

}  // namespace
}  // namespace conclave
