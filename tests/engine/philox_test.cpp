#include "engine/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace conclave {
namespace {

// Known answers published with Random123 (kat_vectors, "philox4x32 10").
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DrawsAreDistinctInTheUnitIntervalAndCentred) {
  std::set<double> seen;
  double sum = 0.0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t position = 0; position < 100; ++position) {
      const double u = uniform_draw(seed, position);
      ASSERT_GE(u, 0.0);
      ASSERT_LT(u, 1.0);
      seen.insert(u);
      sum += u;
    }
  }
  EXPECT_EQ(seen.size(), 10000u);
  EXPECT_NEAR(sum / 10000.0, 0.5, 0.01);  // 3.5 standard errors
}

}  // namespace
}  // namespace conclave
