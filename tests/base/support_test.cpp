#include "base/support.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

TEST(Support, YesUntilSomethingIsMissing) {
  Support support;
  EXPECT_TRUE(support);
  support.need(true, Why::dtype, "not asked");
  EXPECT_TRUE(support);
  EXPECT_TRUE(support.reasons().empty());
}

TEST(Support, KeepsEveryReasonInOrder) {
  Support support;
  support.need(false, Why::quant, "weights must be bf16").need(true, Why::shape, "-").need(false, Why::device, "needs a GPU");
  EXPECT_FALSE(support);
  ASSERT_EQ(support.reasons().size(), 2u);
  EXPECT_EQ(support.reasons()[0].why, Why::quant);
  EXPECT_EQ(support.reasons()[0].text, "weights must be bf16");
  EXPECT_EQ(support.reasons()[1].text, "needs a GPU");
}

TEST(Support, ReasonsHaveNames) {
  EXPECT_EQ(to_string(Why::device), "device");
  EXPECT_EQ(to_string(Why::routing), "routing");
  EXPECT_EQ(to_string(Why::build), "build");
}

}  // namespace
}  // namespace conclave
