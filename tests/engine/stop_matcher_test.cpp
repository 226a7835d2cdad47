#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace conclave {
namespace {

struct Result {
  std::string text;
  std::int32_t stop = StopMatcher::kNone;
};

Result feed(StopMatcher matcher, const std::vector<std::string>& pieces) {
  Result out;
  for (const std::string& piece : pieces) {
    out.stop = matcher.push(piece, out.text);
    if (out.stop != StopMatcher::kNone) return out;
  }
  matcher.release(out.text);
  return out;
}

TEST(StopMatcher, HoldsWhatMayBeginAStopString) {
  StopMatcher matcher({"own fox"}, false);
  std::string out;
  EXPECT_EQ(matcher.push("the quick br", out), StopMatcher::kNone);
  EXPECT_EQ(out, "the quick br");
  EXPECT_EQ(matcher.push("own", out), StopMatcher::kNone);
  EXPECT_EQ(out, "the quick br");
  EXPECT_EQ(matcher.push(" ", out), StopMatcher::kNone);
  EXPECT_EQ(matcher.push("fox jumps", out), 0);
  EXPECT_EQ(out, "the quick br");
}

TEST(StopMatcher, GivesOutWhatTurnedOutToBeText) {
  StopMatcher matcher({"abcd"}, false);
  std::string out;
  matcher.push("xabc", out);
  EXPECT_EQ(out, "x");
  matcher.push("e", out);
  EXPECT_EQ(out, "xabce");
  matcher.push("ab", out);
  matcher.release(out);
  EXPECT_EQ(out, "xabceab");
  matcher.push("cd", out);  // what was released begins nothing any more
  EXPECT_EQ(out, "xabceabcd");
}

TEST(StopMatcher, KeepsTheStopStringWhenAsked) {
  const Result r = feed(StopMatcher({"\n\n"}, true), {"a\n", "\nb"});
  EXPECT_EQ(r.text, "a\n\n");
  EXPECT_EQ(r.stop, 0);
}

TEST(StopMatcher, TheFirstToEndCountsAndTheLongestAmongThose) {
  EXPECT_EQ(feed(StopMatcher({"bcd", "bc"}, false), {"abcd"}).stop, 1);
  const Result r = feed(StopMatcher({"d", "bcd"}, false), {"abcd"});
  EXPECT_EQ(r.stop, 1);
  EXPECT_EQ(r.text, "a");
}

// Against a plain search, over an alphabet of two letters, where everything overlaps.
TEST(StopMatcher, EqualsAPlainSearchHoweverTheTextIsCut) {
  std::mt19937 random(5);
  const auto number = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  const auto word = [&](int length) {
    std::string s;
    for (int i = 0; i < length; ++i) s += number(0, 1) == 0 ? 'a' : 'b';
    return s;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (int i = number(1, 3); i > 0; --i) stops.push_back(word(number(1, 7)));
    const std::string text = word(number(0, 40));
    std::size_t end = text.size(), begin = text.size();
    for (std::size_t n = 1; n <= text.size() && begin == text.size(); ++n) {
      for (const std::string& s : stops) {
        if (std::string_view(text).substr(0, n).ends_with(s)) begin = std::min(begin, n - s.size()), end = n;
      }
    }
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const auto length = static_cast<std::size_t>(number(1, 5));
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    ASSERT_EQ(feed(StopMatcher(stops, false), pieces).text, text.substr(0, begin));
    ASSERT_EQ(feed(StopMatcher(stops, true), pieces).text, text.substr(0, end));
  }
}

}  // namespace
}  // namespace conclave
