#include "io/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/io/refusal.h"

namespace conclave {
namespace {

std::string refused(std::string_view text, const JsonLimits& limits = {}) {
  const std::string ordered = refusal(Errc::corrupt, [&] { parse_ordered_json(text, "x.json", limits); });
  const std::string sorted = refusal(Errc::corrupt, [&] { parse_json(text, "x.json", limits); });
  EXPECT_EQ(sorted.substr(0, 7), "x.json:");
  EXPECT_EQ(ordered.substr(0, 7), "x.json:");
  return sorted;
}

constexpr JsonLimits kNonFinite{.allow_non_finite = true};

TEST(Json, ReadsEveryKindOfValue) {
  constexpr std::string_view kText = R"({"a":[1,-2,2.5,1e3,18446744073709551615,-9223372036854775808],"b":{"c":null,"d":true},
    "e":"\u00e9\ud83d\ude00\n","":{}})";
  const Json json = parse_json(kText, "x");
  EXPECT_EQ(json["a"][0], 1);
  EXPECT_EQ(json["a"][1], -2);
  EXPECT_EQ(json["a"][2], 2.5);
  EXPECT_EQ(json["a"][3], 1000.0);
  EXPECT_EQ(json["a"][4].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json["a"][5].get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(json["b"]["c"].is_null());
  EXPECT_EQ(json["b"]["d"], true);
  EXPECT_EQ(json["e"], "\xc3\xa9\xf0\x9f\x98\x80\n");
  EXPECT_TRUE(json[""].is_object());
  EXPECT_EQ(parse_json(" 7 ", "x"), 7);
  // nlohmann's own tree, built by another path.
  EXPECT_EQ(json, Json::parse(kText));
  EXPECT_EQ(parse_ordered_json(kText, "x"), OrderedJson::parse(kText));
}

TEST(Json, OrderedKeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_ordered_json(R"({"z":1,"a":{"y":[{"d":1,"c":2}],"b":2}})", "x").dump(),
            R"({"z":1,"a":{"y":[{"d":1,"c":2}],"b":2}})");
}

TEST(Json, DuplicateKeysAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal(Errc::corrupt, [] { parse_json("{\n \"a\":1,\n \"\xc3\xa9\":2, \"a\":3}", "c.json"); }),
            "c.json: line 3, column 11: the key 'a' appears twice in one object");
  EXPECT_EQ(refusal(Errc::corrupt, [] { parse_ordered_json("{\"b\":[{\"a\":1,\"a\":3}]}", "c.json"); }),
            "c.json: line 1, column 19: the key 'a' appears twice in one object");
  refused(R"({"a":{"b":1},"c":[1,2],"a":{}})");
  refused(R"({"\u0061":1,"a":2})");
  EXPECT_EQ(parse_json(R"([{"a":1},{"a":2},{"b":{"a":3},"a":4}])", "x").size(), 3u);
}

TEST(Json, DepthIsBoundedWithoutRecursion) {
  const std::string deep(1000000, '[');
  EXPECT_EQ(refused(deep), "x.json: line 1, column 65: arrays and objects are nested more than 64 deep");
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  refused(objects);
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parse_json(nested(64), "x").size(), 1u);
  refused(nested(65));
  EXPECT_TRUE(parse_json("[]", "x", {.max_depth = 1}).empty());
  refused("[[]]", {.max_depth = 1});
  EXPECT_EQ(parse_json("1", "x", {.max_depth = 0}), 1);
}

TEST(Json, SizeIsBounded) {
  EXPECT_EQ(parse_json("[1,2]", "x", {.max_bytes = 5}).size(), 2u);
  EXPECT_EQ(refused("[1,23]", {.max_bytes = 5}), "x.json: 6 bytes of JSON, expected at most 5");
  EXPECT_EQ(refused(""), "x.json: expected JSON, found nothing (0 bytes)");
}

TEST(Json, OnlyUtf8WithoutMark) {
  EXPECT_EQ(refused("\xef\xbb\xbf{}"), "x.json: begins with a byte order mark; save it as UTF-8 without one");
  refused("\xff\xfe{\0}\0");
  for (const char* bad : {"\"\x80\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "{\"\xff\":1}"})
    refused(bad);
  refused(R"("\ud800")");
  refused(R"("\udc00\ud800")");
}

TEST(Json, NulIsNotTheEnd) {
  EXPECT_EQ(refused(std::string_view("{}\0 garbage", 11)), "x.json: line 1, column 3: a NUL byte; JSON has none");
  refused(std::string_view("[1,\"a\0b\"]", 9));
}

TEST(Json, SyntaxErrorsSayWhere) {
  const std::string words = refused("{\n  \"a\": 1,\n  \"b\" 2\n}");
  EXPECT_EQ(words.substr(0, 27), "x.json: line 3, column 8: s") << words;
  EXPECT_NE(words.find("':'"), std::string::npos) << words;
  for (const char* bad : {"{",      "[",       "[1",    "[1,",    "[1,]",  "{\"a\"",   "{\"a\":",     "{\"a\":1", "{\"a\":1,}",
                          "{,}",    "{a:1}",   "'a'",   "tru",    "nul",   "01",       "1.",          ".5",       "+1",
                          "-",      "1e",      "0x10",  "[1 2]",  "{} {}", "]",        "}",           "\"",       "\"\\x\"",
                          "\"\t\"", "// c\n1", "1e999", "-1e999", "NaN",   "Infinity", "[-Infinity]", "undefined"})
    refused(bad);
}

TEST(Json, MessagesStayShort) { EXPECT_LT(refused("\"" + std::string(100000, 'x')).size(), 300u); }

TEST(Json, NonFiniteWordsWhereAllowed) {
  const Json json =
      parse_json(R"({"a":[1,Infinity,2.5,-Infinity,-3],"NaN":"Infinity, \"NaN","b":NaN,"c":[-0.0,Infinity]})", "x", kNonFinite);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json["a"], (Json::array({1, infinity, 2.5, -infinity, -3})));
  EXPECT_EQ(json["NaN"], "Infinity, \"NaN");
  EXPECT_TRUE(std::isnan(json["b"].get<double>()));
  EXPECT_EQ(json["c"][1], infinity);
  EXPECT_TRUE(std::isnan(parse_ordered_json("NaN", "x", kNonFinite).get<double>()));
  EXPECT_EQ(parse_json("-Infinity", "x", kNonFinite), -infinity);
}

TEST(Json, NonFiniteWordsStayWords) {
  for (const char* bad :
       {"[1NaN]", "[NaN5]", "[-NaN]", "[--Infinity]", "[Infinity-1]", "[1Infinity]", "[NaNNaN]", "[nan]", "[Infinity0]",
        "[+Infinity]", "[0.Infinity]", "[1e-Infinity]", "{NaN:1}", "[infinity]", "[Infinity\"a\"]", "[-Infinity-Infinity]"})
    refused(bad, kNonFinite);
}

TEST(Json, AnyCutOrFlippedByteIsReadOrRefused) {
  const std::string whole = R"({"rope":{"theta":1e6,"s":[1,-2.5,Infinity]},"\u0041b":"\ud83d\ude00é","t":[true,false,null,{}]})";
  std::size_t read = 0, refusals = 0;
  const auto attempt = [&](const std::string& text) {
    try {
      parse_ordered_json(text, "x", kNonFinite);
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::corrupt);
      ++refusals;
    }
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    attempt(whole.substr(0, i));
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[i] = static_cast<char>(byte);
      attempt(changed);
    }
  }
  EXPECT_GT(read, whole.size());
  EXPECT_GT(refusals, 100 * whole.size() / 2);
}

}  // namespace
}  // namespace conclave
