#include "base/problems.h"

#include <gtest/gtest.h>

#include "base/in_quotes.h"

namespace conclave {
namespace {

TEST(Problems, OneIsALineSeveralAreAList) {
  Problems problems;
  EXPECT_NO_THROW(problems.throw_if_any(Errc::corrupt, "x"));
  problems.add("a");
  EXPECT_EQ(problems.words("x"), "x: a");
  problems.add("b");
  EXPECT_EQ(problems.words("x"), "x: 2 problems\n  - a\n  - b");
  try {
    problems.throw_if_any(Errc::unsupported, "y");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_STREQ(error.what(), "y: 2 problems\n  - a\n  - b");
  }
}

TEST(Problems, TheFirstTwentyAreTold) {
  Problems problems;
  for (int i = 0; i < 23; ++i) problems.add(std::to_string(i));
  const std::string words = problems.words("x");
  EXPECT_NE(words.find("x: 23 problems\n"), std::string::npos);
  EXPECT_NE(words.find("  - 19\n  - and 3 more"), std::string::npos) << words;
  EXPECT_EQ(problems.count(), 23u);
}

TEST(Problems, AllAreListedWithWhereTheyAre) {
  Problems shard, all;
  for (int i = 0; i < 23; ++i) shard.add(std::to_string(i));
  try {
    shard.throw_if_any(Errc::corrupt, "x");
    FAIL();
  } catch (const Error& error) {
    all.add(error);
  }
  EXPECT_EQ(all.count(), 23u);
  all.add(Error(Errc::not_found, "no y"));
  try {
    all.throw_if_any(Errc::corrupt, "z");
    FAIL();
  } catch (const Error& error) {
    const std::vector<std::string> problems = problems_of(error);
    ASSERT_EQ(problems.size(), 24u);
    EXPECT_EQ(problems[22], "z: x: 22");
    EXPECT_EQ(problems[23], "z: no y");
  }
}

TEST(InQuotes, ShowsControlBytesAndCutsBetweenCharacters) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes(std::string_view("a\n\x1b[31m\0\x7f", 9)), "'a\\x0a\\x1b[31m\\x00\\x7f'");
  EXPECT_EQ(in_quotes("\xc3\xa9\xc3\xa9", 3), "'\xc3\xa9...'");
  EXPECT_EQ(in_quotes("\xc3\xa9\xc3\xa9", 4), "'\xc3\xa9\xc3\xa9'");
  EXPECT_EQ(in_quotes("abc", 0), "'...'");
}

}  // namespace
}  // namespace conclave
