#include "checkpoint/safetensors_index.h"

#include <gtest/gtest.h>

#include "tests/io/refusal.h"

namespace conclave {
namespace {

std::string refused(std::string_view text) {
  return refusal(Errc::corrupt, [&] { parse_safetensors_index(text, "i"); });
}

TEST(SafetensorsIndex, GroupsTensorsByShard) {
  const SafetensorsIndex index =
      parse_safetensors_index(R"({"metadata":{"total_size":7},"weight_map":{"b":"2.st","a":"1.st","c":"1.st"}})", "i");
  ASSERT_EQ(index.size(), 2u);
  EXPECT_EQ(index.at("1.st"), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(index.at("2.st"), (std::vector<std::string>{"b"}));
}

TEST(SafetensorsIndex, RefusesWhatIsNoIndex) {
  for (const char* text : {"", "[]", "{}", "7", R"({"weight_map":[]})", R"({"weight_map":null})", R"({"weight_map":{}})",
                           R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":"x","a":"y"}})", R"({"weight_map":{"a":"x"})"})
    refused(text);
}

TEST(SafetensorsIndex, FileNamesDoNotLeaveTheFolder) {
  const std::string words =
      refused(R"({"weight_map":{"a":"../x","b":"/etc/passwd","c":"..","d":"","e":"a\u0000b","f":"ok","g":{"x":1},"h":"sub/x"}})");
  EXPECT_NE(words.find("7 problems"), std::string::npos) << words;
  for (const char* told : {"'../x'", "'/etc/passwd'", "'..'", "''", "'a\\x00b'", "object", "'sub/x'"})
    EXPECT_NE(words.find(told), std::string::npos) << told << " in " << words;
}

TEST(SafetensorsIndex, DifferencesAreNamedBothWays) {
  std::vector<SafetensorsTensor> found(3);
  found[0].name = "a";
  found[1].name = "c";
  found[2].name = "e";
  Problems problems;
  compare_with_index("s", {"a", "b", "c"}, found, problems);
  EXPECT_EQ(problems.count(), 2u);
  EXPECT_EQ(problems.words("i"),
            "i: 2 problems\n  - tensor 'b' is not in 's', where the index has it\n"
            "  - tensor 'e' is in 's', where the index does not have it");
  Problems none;
  compare_with_index("s", {"a", "c", "e"}, found, none);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace conclave
