#include "models/config.h"

#include <gtest/gtest.h>

#include "base/problems.h"
#include "io/json.h"
#include "models/blocks.h"

namespace conclave {
namespace {

Json qwen3() {
  return Json::parse(R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_hidden_layers": 48,
    "hidden_size": 2048, "vocab_size": 151936, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
    "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "eos_token_id": 151645,
    "rope_theta": 1000000.0, "rope_scaling": null})");
}

std::string refusal(const Json& config, const Json* generation = nullptr) {
  try {
    parse_model_config(config, generation);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(ModelConfig, ReadsTheOldKeyStyle) {
  const Json generation = Json::parse(R"({"eos_token_id": [151645, 151643]})");
  const ModelConfig c = parse_model_config(qwen3(), &generation);
  EXPECT_EQ(c.architecture, "Qwen3MoeForCausalLM");
  EXPECT_EQ(c.head_dim, 128);  // not hidden / heads = 64
  EXPECT_EQ(c.rotary_dim, 128);
  EXPECT_EQ(c.rope.theta, 1e6);
  EXPECT_EQ(c.rope.type, "default");
  EXPECT_EQ(c.eos_ids, (std::vector<std::int32_t>{151645, 151643}));
}

TEST(ModelConfig, ReadsTheNewKeyStyle) {
  Json j = qwen3();
  j.erase("rope_theta");
  j.erase("rope_scaling");
  j["rope_parameters"] = {{"rope_theta", 150000},
                          {"rope_type", "yarn"},
                          {"factor", 32.0},
                          {"truncate", false},
                          {"original_max_position_embeddings", 4096},
                          {"partial_rotary_factor", 0.5}};
  const ModelConfig c = parse_model_config(j, nullptr);
  EXPECT_EQ(c.rope.theta, 150000);
  EXPECT_EQ(c.rope.type, "yarn");
  EXPECT_FALSE(c.rope.truncate);
  EXPECT_EQ(c.rope.original_max_positions, 4096);
  EXPECT_EQ(c.rotary_dim, 64);
}

TEST(ModelConfig, AListOfKindsCountsTheLayers) {
  Json j = qwen3();
  j.erase("num_hidden_layers");
  EXPECT_NE(refusal(j).find("num_hidden_layers is missing"), std::string::npos);
  j["layers_block_type"] = {"mamba", "mlp", "attention"};
  EXPECT_EQ(parse_model_config(j, nullptr).layers, 3);
  for (const Json& list : {Json::array(), Json("mamba"), Json(std::vector<int>(4097))}) {
    j["layers_block_type"] = list;
    EXPECT_NE(refusal(j).find("num_hidden_layers is missing"), std::string::npos);
  }
}

TEST(ModelConfig, ReadsTheOldScalingType) {
  Json j = qwen3();
  j["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(parse_model_config(j, nullptr).rope.type, "linear");
}

// Phi-3's style: the trained length beside the scaling object, and no factor.
TEST(ModelConfig, ReadsLongrope) {
  Json j = qwen3();
  j["rope_scaling"] = {{"type", "longrope"}, {"short_factor", {1.0, 1.5}}, {"long_factor", {2, 64.5}}};
  j["original_max_position_embeddings"] = 4096;
  const RopeConfig rope = parse_model_config(j, nullptr).rope;
  EXPECT_EQ(rope.short_factor, (std::vector<double>{1.0, 1.5}));
  EXPECT_EQ(rope.long_factor, (std::vector<double>{2.0, 64.5}));
  EXPECT_EQ(rope.original_max_positions, 4096);
  EXPECT_EQ(rope.factor, 10.0);  // 40960 / 4096
  EXPECT_EQ(rope.longest_context, 40960);
  j["rope_scaling"]["long_factor"] = {2, 0};
  EXPECT_NE(refusal(j).find("long_factor: expected numbers from"), std::string::npos) << refusal(j);
}

TEST(ModelConfig, ReadsTheNestedTextConfig) {
  Json outer = {{"architectures", {"Llama4ForConditionalGeneration"}}, {"text_config", qwen3()}};
  outer["text_config"].erase("architectures");
  const ModelConfig c = parse_model_config(outer, nullptr);
  EXPECT_EQ(c.architecture, "Llama4ForConditionalGeneration");
  EXPECT_EQ(c.layers, 48);
}

TEST(ModelConfig, ListsEveryProblemAtOnce) {
  Json j = qwen3();
  j["num_hidden_layers"] = -1;
  j["hidden_size"] = "wide";
  j.erase("vocab_size");
  j["num_key_value_heads"] = 5;
  const std::string words = refusal(j);
  for (const char* part :
       {"num_hidden_layers", "-1", "hidden_size", "\"wide\"", "vocab_size is missing", "multiple of num_key_value_heads 5"})
    EXPECT_NE(words.find(part), std::string::npos) << part << " in: " << words;
}

// Nothing is told of values that only stood in for the wrong one.
TEST(ModelConfig, OneWrongKeyIsOneProblem) {
  Json config = qwen3();
  config["bos_token_id"] = 151643;
  config["rotary_dim"] = 64;
  for (const char* key : {"num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads", "num_key_value_heads",
                          "head_dim", "max_position_embeddings", "rms_norm_eps", "tie_word_embeddings", "eos_token_id",
                          "bos_token_id", "rope_theta", "rotary_dim"})
    for (const Json& wrong : {Json("many"), Json(-1), Json()})
      for (const char* also_missing : {"", "head_dim", "num_key_value_heads"}) {
        Json j = config;
        j.erase(also_missing);
        j[key] = wrong;
        try {
          parse_model_config(j, nullptr);
          EXPECT_TRUE(wrong.is_null()) << key;
        } catch (const Error& e) {
          EXPECT_EQ(problems_of(e).size(), 1u) << e.what();
          EXPECT_EQ(std::string(e.what()).find(std::string("config.json: ") + key), 0u) << e.what();
        }
      }
}

TEST(ModelConfig, ContradictionsOfValuesThatAreThereAreAllTold) {
  Json j = qwen3();
  j["num_key_value_heads"] = 5;
  j["rotary_dim"] = 63;
  j["vocab_size"] = "many";
  const std::string words = refusal(j);
  for (const char* part : {"32 is not a multiple of num_key_value_heads 5", "63 turned dimensions", "vocab_size: expected"})
    EXPECT_NE(words.find(part), std::string::npos) << words;
}

TEST(ModelConfig, GenerationDefaultsMustBeAnObject) {
  const Json list = Json::array();
  EXPECT_EQ(refusal(qwen3(), &list), "generation_config.json: expected an object, found []");
}

TEST(ModelConfig, RopeScalingMustBeAnObject) {  // "yarn" alone would otherwise run without any scaling
  for (const char* key : {"rope_scaling", "rope_parameters"})
    for (const char* value : {"\"yarn\"", "4.0", "[]", "true"}) {
      Json j = qwen3();
      j.erase("rope_parameters");
      j[key] = Json::parse(value);
      EXPECT_NE(refusal(j).find(key), std::string::npos) << key << " = " << value;
    }
}

TEST(ModelConfig, HostileValuesAreRefused) {
  const char* values[] = {"null", "[]", "{}", "1e308", "18446744073709551615", "-9223372036854775808", "0", "\"\"", "true", "1.5"};
  for (const char* key : {"num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads"})
    for (const char* value : values) {
      Json j = qwen3();
      j[key] = Json::parse(value);
      EXPECT_NE(refusal(j).find(key), std::string::npos) << key << " = " << value;
    }
}

TEST(ExpertGroups, AreReadAndMustDivideTheExperts) {
  moe::RoutingSpec routing;
  const Json none = Json::object(), v3 = {{"n_group", 8}, {"topk_group", 4}}, odd = {{"n_group", 6}, {"topk_group", 7}};
  ConfigReader absent(none), fits(v3), wrong(odd);
  read_expert_groups(absent, 256, routing);
  EXPECT_EQ(routing.groups, 1);
  EXPECT_EQ(routing.top_groups, 1);
  read_expert_groups(fits, 256, routing);
  EXPECT_EQ(routing.groups, 8);
  EXPECT_EQ(routing.top_groups, 4);
  EXPECT_TRUE(absent.problems().empty());
  EXPECT_TRUE(fits.problems().empty());
  read_expert_groups(wrong, 256, routing);
  EXPECT_EQ(wrong.problems(), (std::vector<std::string>{"topk_group: expected an integer from 1 to 6, found 7",
                                                        "n_routed_experts 256 is not a multiple of n_group 6"}));
}

// Expected: what transformers' Qwen3Config makes of the same keys (layer_types and sliding_window after __post_init__).
TEST(LayerWindows, AreThoseOfTransformers) {
  struct Case {
    Json keys;
    std::vector<std::int32_t> windows;  // of three layers
  };
  const Case cases[] = {
      {{}, {0, 0, 0}},
      {{{"sliding_window", 24}, {"max_window_layers", 0}}, {0, 0, 0}},
      {{{"use_sliding_window", true}, {"sliding_window", 24}, {"max_window_layers", 1}}, {0, 24, 24}},
      {{{"use_sliding_window", true}, {"max_window_layers", 2}}, {0, 0, 4096}},
      {{{"use_sliding_window", true}, {"sliding_window", 24}}, {0, 0, 0}},  // 28 layers see everything
      {{{"use_sliding_window", true}, {"sliding_window", nullptr}, {"max_window_layers", 0}}, {0, 0, 0}},
      {{{"use_sliding_window", true},
        {"sliding_window", 8},
        {"layer_types", {"sliding_attention", "full_attention", "sliding_attention"}}},
       {8, 0, 8}},
  };
  for (const Case& c : cases) {
    const Json keys = c.keys.is_null() ? Json::object() : c.keys;
    ConfigReader reader(keys);
    const LayerWindows windows(reader, 3);
    EXPECT_EQ((std::vector<std::int32_t>{windows(0), windows(1), windows(2)}), c.windows) << keys.dump();
    EXPECT_TRUE(reader.problems().empty()) << keys.dump();
  }
}

TEST(LayerWindows, WhatContradictsItselfIsRefused) {
  const struct {
    Json keys;
    const char* words;
  } cases[] = {
      {{{"layer_types", {"sliding_attention"}}}, "layer_types has sliding_attention, and use_sliding_window"},
      {{{"layer_types", {"full_attention", "full_attention"}}}, "layer_types: expected a list of 1 texts"},
      {{{"layer_types", {"chunked_attention"}}}, "\"chunked_attention\" is not one of"},
      {{{"use_sliding_window", true}, {"sliding_window", 0}}, "sliding_window: expected an integer from 1"},
  };
  for (const auto& c : cases) {
    ConfigReader reader(c.keys);
    const LayerWindows windows(reader, 1);
    ASSERT_EQ(reader.problems().size(), 1u) << c.keys.dump();
    EXPECT_NE(reader.problems()[0].find(c.words), std::string::npos) << reader.problems()[0];
  }
}

TEST(Window, NullSaysThatThereIsNoneAndNoKeySays4096) {
  const Json none = Json::object(), null = {{"sliding_window", nullptr}}, some = {{"sliding_window", 24}};
  ConfigReader absent(none), without(null), with(some);
  EXPECT_EQ(read_window(absent), 4096);
  EXPECT_EQ(read_window(without), 0);
  EXPECT_EQ(read_window(with), 24);
}

TEST(ModelConfig, AListOfEndIdsIsBounded) {
  Json ids = Json::array();
  for (int id = 0; id < 4096; ++id) ids.push_back(id);
  const Json longest = {{"eos_token_id", ids}};
  EXPECT_EQ(parse_model_config(qwen3(), &longest).eos_ids.size(), 4097u);  // and config.json's own
  ids.push_back(4096);
  const Json longer = {{"eos_token_id", ids}};
  const std::string words = refusal(qwen3(), &longer);
  EXPECT_NE(words.find("generation_config.json: eos_token_id: expected at most 4096 integers, found 4097"), std::string::npos)
      << words;
}

TEST(ConfigReader, RefusesValuesThatAreNotSupportedByKeyAndValue) {
  const Json j = {{"scoring_func", "tanh"}, {"hidden_act", "silu"}};
  ConfigReader reader(j);
  reader.only("scoring_func", {"softmax", "sigmoid"});
  reader.only("hidden_act", {"silu"});
  reader.only("absent", {std::int64_t{1}});
  ASSERT_EQ(reader.problems().size(), 1u);
  EXPECT_EQ(reader.problems()[0], "scoring_func: \"tanh\" is not supported (supported: \"softmax\", \"sigmoid\")");
}

}  // namespace
}  // namespace conclave
