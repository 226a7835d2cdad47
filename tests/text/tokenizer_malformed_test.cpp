// tokenizer.json files that contradict themselves, or ask for what is not supported: an Error that names the fault.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "conclave/error.h"
#include "io/json.h"
#include "tests/text/tokenizer_fixtures.h"
#include "text/tokenizer.h"

namespace conclave {
namespace {

struct Fault {
  const char* name;
  std::function<void(Json&)> make;
  Errc code;
  const char* words;  // found in the message
};

Json added(std::int64_t id, const char* content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json split(const char* regex) {
  return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json sequence(const char* list, std::size_t count, const Json& part) {
  return {{"type", "Sequence"}, {list, std::vector<Json>(count, part)}};
}

const Errc kCorrupt = Errc::corrupt, kUnsupported = Errc::unsupported;

const std::vector<Fault> kFaults = {
    {"no model", [](Json& j) { j.erase("model"); }, kCorrupt, "'model' is missing"},
    {"model of another kind", [](Json& j) { j["model"]["type"] = "Unigram"; }, kUnsupported, "Unigram"},
    {"vocab is an array", [](Json& j) { j["model"]["vocab"] = Json::array({"a"}); }, kCorrupt, "vocab"},
    {"id is a string", [](Json& j) { j["model"]["vocab"]["a"] = "0"; }, kCorrupt, "'a'"},
    {"id is a fraction", [](Json& j) { j["model"]["vocab"]["a"] = 0.5; }, kCorrupt, "'a'"},
    {"id is negative", [](Json& j) { j["model"]["vocab"]["a"] = -1; }, kCorrupt, "'a' has the id -1"},
    {"id is 2^31", [](Json& j) { j["model"]["vocab"]["a"] = 2147483648; }, kCorrupt, "2147483648"},
    {"id is 2^63", [](Json& j) { j["model"]["vocab"]["a"] = 9223372036854775808ull; }, kCorrupt, "'a'"},
    {"id far out", [](Json& j) { j["model"]["vocab"]["a"] = 1000000; }, kCorrupt, "1000000"},
    {"two tokens, one id", [](Json& j) { j["model"]["vocab"]["b"] = 0; }, kCorrupt, "two tokens have the id 0"},
    {"merge of a missing token", [](Json& j) { j["model"]["merges"].push_back("a z"); }, kCorrupt, "'z' is not in the vocabulary"},
    {"merge into a missing token", [](Json& j) { j["model"]["merges"].push_back("b c"); }, kCorrupt,
     "'bc' is not in the vocabulary"},
    {"merge of three", [](Json& j) { j["model"]["merges"].push_back("a b c"); }, kCorrupt, "merges[2]"},
    {"merge of one", [](Json& j) { j["model"]["merges"].push_back(Json::array({"a"})); }, kCorrupt, "merges[2]"},
    {"merge is a number", [](Json& j) { j["model"]["merges"].push_back(7); }, kCorrupt, "merges[2]"},
    {"no merges", [](Json& j) { j["model"].erase("merges"); }, kCorrupt, "merges"},
    {"unk is no token", [](Json& j) { j["model"]["unk_token"] = "<unk>"; }, kCorrupt, "<unk>"},
    {"dropout", [](Json& j) { j["model"]["dropout"] = 0.1; }, kUnsupported, "dropout"},
    {"subword prefix", [](Json& j) { j["model"]["continuing_subword_prefix"] = "##"; }, kUnsupported, "continuing_subword_prefix"},
    {"word suffix", [](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }, kUnsupported, "end_of_word_suffix"},
    {"unknown field of the model", [](Json& j) { j["model"]["sparkle"] = 1; }, kUnsupported, "'sparkle'"},
    {"unknown field of the file", [](Json& j) { j["sparkle"] = 1; }, kUnsupported, "'sparkle'"},
    {"added token without id", [](Json& j) { j["added_tokens"][0].erase("id"); }, kCorrupt, "added_tokens[0]"},
    {"added token with a huge id", [](Json& j) { j["added_tokens"].push_back(added(4294967296, "<t>")); }, kCorrupt, "4294967296"},
    {"added token far out", [](Json& j) { j["added_tokens"].push_back(added(2147483647, "<t>")); }, kCorrupt, "2147483647"},
    {"added token on a taken id", [](Json& j) { j["added_tokens"].push_back(added(0, "<t>")); }, kCorrupt,
     "two tokens have the id 0"},
    {"added token with two ids", [](Json& j) { j["added_tokens"].push_back(added(6, "<s>")); }, kCorrupt, "'<s>' has two ids"},
    {"added token unlike the vocabulary", [](Json& j) { j["added_tokens"].push_back(added(6, "ab")); }, kCorrupt,
     "'ab' has two ids"},
    {"unknown normalizer",
     [](Json& j) {
       j["normalizer"] = {{"type", "Precompiled"}};
     },
     kUnsupported, "normalizer 'Precompiled'"},
    {"normalizer without type", [](Json& j) { j["normalizer"] = Json::object(); }, kCorrupt, "normalizer"},
    {"normalizer is a string", [](Json& j) { j["normalizer"] = "NFC"; }, kCorrupt, "normalizer"},
    {"field a normalizer lacks",
     [](Json& j) {
       j["normalizer"] = {{"type", "NFC"}, {"fast", true}};
     },
     kUnsupported, "'fast'"},
    {"empty pattern",
     [](Json& j) {
       j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", ""}}}, {"content", "x"}};
     },
     kUnsupported, "pattern"},
    {"two patterns",
     [](Json& j) {
       j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "a"}, {"Regex", "a"}}}, {"content", "x"}};
     },
     kCorrupt, "pattern"},
    {"too many normalizers",
     [](Json& j) {
       j["normalizer"] = sequence("normalizers", 100, {{"type", "NFC"}});
     },
     kUnsupported, "more than 64"},
    {"unknown pre-tokenizer",
     [](Json& j) {
       j["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
     },
     kUnsupported, "pre-tokenizer 'UnicodeScripts'"},
    {"pre-tokenizer in a sequence",
     [](Json& j) {
       j["pre_tokenizer"] = sequence("pretokenizers", 3, {{"type", "Foo"}});
     },
     kUnsupported, "pretokenizers[0]"},
    {"sequence of sequences",
     [](Json& j) {
       j["pre_tokenizer"] = sequence("pretokenizers", 60, sequence("pretokenizers", 60, {{"type", "WhitespaceSplit"}}));
     },
     kUnsupported, "more than 64"},
    {"unknown behavior",
     [](Json& j) {
       j["pre_tokenizer"] = split("a");
       j["pre_tokenizer"]["behavior"] = "Eaten";
     },
     kCorrupt, "Eaten"},
    {"metaspace of two characters",
     [](Json& j) {
       j["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "__"}};
     },
     kCorrupt, "replacement"},
    {"metaspace contradiction",
     [](Json& j) {
       j["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}, {"add_prefix_space", false}};
     },
     kCorrupt, "add_prefix_space"},
    {"open bracket", [](Json& j) { j["pre_tokenizer"] = split("[a"); }, kCorrupt, "'['"},
    {"open group", [](Json& j) { j["pre_tokenizer"] = split("(a"); }, kCorrupt, "'('"},
    {"backward range", [](Json& j) { j["pre_tokenizer"] = split("[z-a]"); }, kCorrupt, "backwards"},
    {"nothing to repeat", [](Json& j) { j["pre_tokenizer"] = split("*a"); }, kUnsupported, "refused by PCRE2"},
    {"back reference", [](Json& j) { j["pre_tokenizer"] = split(R"((a)\1)"); }, kUnsupported, R"(\1)"},
    {"recursion", [](Json& j) { j["pre_tokenizer"] = split(R"(a\g<0>?b)"); }, kUnsupported, R"(\g)"},
    {"PCRE2 verb", [](Json& j) { j["pre_tokenizer"] = split("(*LIMIT_MATCH=1)a"); }, kUnsupported, "(*"},
    {"unknown property", [](Json& j) { j["pre_tokenizer"] = split(R"(\p{Klingon})"); }, kUnsupported, "Klingon"},
    {"classes too deep", [](Json& j) { j["pre_tokenizer"] = split(std::string(40, '[').c_str()); }, kUnsupported, "nested"},
    {"groups too deep", [](Json& j) { j["pre_tokenizer"] = split((std::string(400, '(') + std::string(400, ')')).c_str()); },
     kUnsupported, "PCRE2"},
    {"pattern too long", [](Json& j) { j["pre_tokenizer"] = split(std::string(20000, 'a').c_str()); }, kUnsupported, "20000 bytes"},
    {"repeats too large", [](Json& j) { j["pre_tokenizer"] = split("((a{1,60000}){1,60000}){1,60000}"); }, kUnsupported, "PCRE2"},
    {"unknown post-processor",
     [](Json& j) {
       j["post_processor"] = {{"type", "BertProcessing"}};
     },
     kUnsupported, "post-processor 'BertProcessing'"},
    {"template without text",
     [](Json& j) {
       j["post_processor"] = {{"type", "TemplateProcessing"}, {"single", Json::array()}, {"special_tokens", Json::object()}};
     },
     kCorrupt, "'A'"},
    {"template with an unknown token",
     [](Json& j) {
       j["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", {{{"SpecialToken", {{"id", "<x>"}, {"type_id", 0}}}}}},
                              {"special_tokens", Json::object()}};
     },
     kCorrupt, "'<x>'"},
    {"template with an id out of range",
     [](Json& j) {
       j["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", {{{"SpecialToken", {{"id", "<x>"}, {"type_id", 0}}}}}},
                              {"special_tokens", {{"<x>", {{"id", "<x>"}, {"ids", {99}}, {"tokens", {"<x>"}}}}}}};
     },
     kCorrupt, "99"},
    {"unknown decoder",
     [](Json& j) {
       j["decoder"] = {{"type", "CTC"}};
     },
     kUnsupported, "decoder 'CTC'"},
    {"bytes after fusing",
     [](Json& j) {
       j["decoder"] = {{"type", "Sequence"}, {"decoders", {{{"type", "Fuse"}}, {{"type", "ByteFallback"}}}}};
     },
     kUnsupported, "ByteFallback"},
    {"strip of two characters",
     [](Json& j) {
       j["decoder"] = {{"type", "Strip"}, {"content", "ab"}, {"start", 1}, {"stop", 0}};
     },
     kCorrupt, "content"},
    {"strip of a negative count",
     [](Json& j) {
       j["decoder"] = {{"type", "Strip"}, {"content", " "}, {"start", -1}, {"stop", 0}};
     },
     kCorrupt, "start"},
};

TEST(MalformedTokenizer, IsRefusedWithWords) {
  ASSERT_NO_THROW(Tokenizer::from_json(small_tokenizer_json().dump()));
  for (const Fault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    Json json = small_tokenizer_json();
    fault.make(json);
    try {
      Tokenizer::from_json(json.dump());
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), fault.code) << error.what();
      EXPECT_NE(std::string(error.what()).find(fault.words), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("tokenizer.json"), std::string::npos) << error.what();
    }
  }
}

TEST(MalformedTokenizer, IsNoJson) {
  for (const char* text : {"", "{", "[]", "null", "\"BPE\"", "{\"model\": {}}", "\xFF\xFE"}) {
    EXPECT_THROW(Tokenizer::from_json(text), Error) << text;
  }
}

TEST(MalformedTokenizer, ConfigIsChecked) {
  const std::string good = small_tokenizer_json().dump();
  EXPECT_THROW(Tokenizer::from_json(good, "[]"), Error);
  EXPECT_THROW(Tokenizer::from_json(good, R"({"bos_token": 7})"), Error);
  EXPECT_THROW(Tokenizer::from_json(good, R"({"add_bos_token": "yes"})"), Error);
  EXPECT_NO_THROW(Tokenizer::from_json(good, R"({"bos_token": {"content": "<s>"}, "model_max_length": 1e30})"));
}

TEST(MalformedTokenizer, HolesAreNoTokens) {
  Json json = small_tokenizer_json();
  json["added_tokens"].push_back(added(9, "<t>"));
  const auto tokenizer = Tokenizer::from_json(json.dump());
  EXPECT_EQ(tokenizer->vocab_size(), 10);
  EXPECT_FALSE(tokenizer->has(7));
  EXPECT_EQ(tokenizer->text_of(7), "");
  EXPECT_EQ(tokenizer->bytes_of(-5), "");
  const std::vector<Token> ids = {0, 7, -1, 99, 2147483647, -2147483648, 1};
  EXPECT_EQ(tokenizer->decode(ids, false), "ab");
}

}  // namespace
}  // namespace conclave
