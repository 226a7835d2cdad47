#include "base/check.h"

#include <gtest/gtest.h>

#include <string>

#include "conclave/error.h"

namespace conclave {
namespace {

TEST(CheckDeathTest, PrintsWhatWasBelievedAndAborts) {
  EXPECT_DEATH(CONCLAVE_CHECK(1 + 1 == 3, "sum " + std::to_string(2)), "check_test.cpp:.*1 \\+ 1 == 3; sum 2");
  EXPECT_DEATH(CONCLAVE_CHECK(false), "internal error, this does not hold: false");
}

TEST(Check, WordsAreBuiltOnFailureOnly) {
  int built = 0;
  const auto words = [&built] {
    ++built;
    return std::string("words");
  };
  CONCLAVE_CHECK(true, words());
  EXPECT_EQ(built, 0);
}

TEST(Error, CarriesItsCodeThroughContext) {
  const Error error(Errc::corrupt, "bad header");
  const Error outer = error.with_context("opening 'x'");
  EXPECT_EQ(outer.code(), Errc::corrupt);
  EXPECT_STREQ(outer.what(), "opening 'x': bad header");
  EXPECT_STREQ(to_string(Errc::not_found), "not found");
}

}  // namespace
}  // namespace conclave
