#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace conclave {
namespace {

constexpr std::array<std::string_view, 4> kKnown = {"latency", "throughput", "auto", "reference"};

TEST(Nearest, FindsTheClosestName) {
  EXPECT_EQ(nearest_name("latnecy", kKnown), "latency");
  EXPECT_EQ(nearest_name("latency", kKnown), "latency");
  EXPECT_EQ(nearest_name("through-put", kKnown), "throughput");
  EXPECT_EQ(nearest_name("aut", kKnown), "auto");
}

TEST(Nearest, NothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("zzzzzz", kKnown), "");
  EXPECT_EQ(nearest_name("", kKnown), "");
  EXPECT_EQ(nearest_name("latency", {}), "");
  EXPECT_EQ(nearest_name("nope", std::array<std::string_view, 1>{"home"}), "");
}

TEST(Nearest, Words) {
  EXPECT_EQ(did_you_mean("referense", kKnown), " (did you mean 'reference'?)");
  EXPECT_EQ(did_you_mean("qqqqqqqqq", kKnown), "");
}

}  // namespace
}  // namespace conclave
