#include "quant/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "conclave/error.h"
#include "io/json.h"

namespace conclave {
namespace {

constexpr LinearScheme kPlain{kBf16, kF32};
constexpr LinearScheme kNvfp4Both{kNvfp4, kNvfp4Activation};

QuantConfig parse(const std::string& quantization_config) {
  return QuantConfig::parse(Json::parse(R"({"torch_dtype": "bfloat16", "quantization_config": )" + quantization_config + "}"),
                            nullptr);
}

// The words of the refusal; "" when it was taken.
std::string refused(const std::string& quantization_config) {
  try {
    parse(quantization_config);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::unsupported);
    return e.what();
  }
  return {};
}

::testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

// ---- announcements of public models ---------------------------------------------------------------------------------------------

TEST(QuantConfig, NothingAnnouncedIsTheTypeOfTheModel) {
  const std::pair<const char*, QuantScheme> cases[] = {{R"({"torch_dtype": "bfloat16"})", kBf16},
                                                       {R"({"dtype": "float16"})", kF16},
                                                       {R"({"dtype": "float32"})", kF32},
                                                       {R"({})", kBf16},
                                                       {R"({"text_config": {"dtype": "float32"}})", kF32},
                                                       {R"({"quantization_config": null})", kBf16}};
  for (const auto& [json, expected] : cases) {
    const QuantConfig config = QuantConfig::parse(Json::parse(json), nullptr);
    EXPECT_EQ(config.scheme_of("model.layers.0.mlp.up_proj"), (LinearScheme{expected, kF32})) << json;
    EXPECT_FALSE(config.quantized());
  }
  EXPECT_THROW(QuantConfig::parse(Json::parse(R"({"torch_dtype": "float8_e4m3fn"})"), nullptr), Error);
}

TEST(QuantConfig, ModelOptSidecarAlone) {  // nvidia/Llama-3.3-70B-Instruct-FP4
  const Json sidecar = Json::parse(R"({"producer": {"name": "modelopt", "version": "0.23.0"},
      "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}})");
  const QuantConfig config = QuantConfig::parse(Json::parse(R"({"torch_dtype": "bfloat16"})"), &sidecar);
  EXPECT_EQ(config.scheme_of("model.layers.0.self_attn.q_proj"), kNvfp4Both);
  EXPECT_EQ(config.scheme_of("lm_head"), kPlain);
  EXPECT_TRUE(config.announces_fp8_kv());
  EXPECT_EQ(config.describe(), "ModelOpt NVFP4: nvfp4 weights with nvfp4 inputs for all linears; not lm_head; FP8 KV cache");
}

constexpr const char* kModelOptNvfp4 =
    R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0.self_attn*"],
    "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16, "dynamic": false},
      "input_activations": {"num_bits": 4, "type": "float", "group_size": 16, "dynamic": false}, "targets": ["Linear"]}},
    "kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"}, "producer": {"name": "modelopt", "version": "0.29.0"}})";

TEST(QuantConfig, ModelOptInConfigJson) {
  const QuantConfig config = parse(kModelOptNvfp4);
  EXPECT_EQ(config.scheme_of("model.layers.0.self_attn.q_proj"), kPlain);
  EXPECT_EQ(config.scheme_of("model.layers.1.self_attn.q_proj"), kNvfp4Both);
  EXPECT_EQ(config.scheme_of("model.layers.1.mlp.gate"), kPlain) << "routers are never quantised";
  EXPECT_EQ(config.scheme_of("model.layers.1.mlp.shared_expert_gate"), kPlain);
  EXPECT_EQ(config.scheme_of("model.embed_tokens"), kPlain);
  EXPECT_EQ(config.scheme_of("vision_tower.blocks.0.attn.q_proj"), kPlain);
  EXPECT_TRUE(config.announces_fp8_kv());
}

TEST(QuantConfig, ModelOptAlgorithms) {
  const QuantScheme mxfp8{Code::f8e4m3, 1, 32, DType::f8e8m0, true};
  QuantScheme mxfp8_dynamic = mxfp8;
  mxfp8_dynamic.dynamic = true;
  const std::pair<const char*, LinearScheme> cases[] = {
      {"FP8", {kFp8Tensor, kFp8TensorStatic}}, {"fp8", {kFp8Tensor, kFp8TensorStatic}},
      {"FP8_PB_WO", {kFp8Block128, kF32}},     {"FP8_PER_CHANNEL_PER_TOKEN", {kFp8Channel, kFp8TokenDynamic}},
      {"W4A16_NVFP4", {kNvfp4, kF32}},         {"MXFP8", {mxfp8, mxfp8_dynamic}}};
  for (const auto& [name, expected] : cases) {
    const QuantConfig config = parse(std::string(R"({"quant_method": "modelopt", "ignore": [], "quant_algo": ")") + name + "\"}");
    EXPECT_EQ(config.scheme_of("model.layers.0.mlp.up_proj"), expected) << name;
    EXPECT_FALSE(config.announces_fp8_kv());
  }
}

TEST(QuantConfig, ModelOptMixedPrecision) {
  const QuantConfig config = parse(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "model.layers.0.mlp.experts.0.up_proj": {"quant_algo": "NVFP4", "group_size": 16},
      "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
      "language_model.model.layers.1.mlp.experts": {"quant_algo": "W4A16_NVFP4", "group_size": 16}}, "ignore": ["lm_head"]})");
  EXPECT_EQ(config.scheme_of("model.layers.0.mlp.experts.0.up_proj"), kNvfp4Both);
  EXPECT_EQ(config.scheme_of("model.layers.0.self_attn.q_proj"), (LinearScheme{kFp8Tensor, kFp8TensorStatic}));
  EXPECT_EQ(config.scheme_of("model.layers.0.self_attn.k_proj"), kPlain) << "not in the map: not quantised";
  EXPECT_EQ(config.scheme_of("model.layers.1.mlp.experts.5.up_proj"), (LinearScheme{kNvfp4, kF32}));
}

TEST(QuantConfig, OnlyTheCacheIsQuantised) {
  const Json sidecar =
      Json::parse(R"({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8", "exclude_modules": []}})");
  const QuantConfig config = QuantConfig::parse(Json::parse("{}"), &sidecar);
  EXPECT_EQ(config.scheme_of("model.layers.0.mlp.up_proj"), kPlain);
  EXPECT_TRUE(config.announces_fp8_kv());
}

TEST(QuantConfig, BlockFp8) {
  const QuantConfig deepseek =
      parse(R"({"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "activation_scheme": "dynamic"})");
  EXPECT_EQ(deepseek.scheme_of("model.layers.3.mlp.experts.255.down_proj"), (LinearScheme{kFp8Block128, kFp8Token128}));
  EXPECT_EQ(deepseek.scheme_of("model.layers.3.mlp.gate"), kPlain);
  EXPECT_EQ(deepseek.scheme_of("lm_head"), kPlain);
  EXPECT_EQ(deepseek.scheme_of("model.embed_tokens"), kPlain);

  const QuantConfig minimax = parse(R"({"quant_method": "fp8", "fmt": "float8_e4m3fn", "weight_block_size": [128, 128],
      "activation_scheme": "dynamic", "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]})");
  EXPECT_EQ(minimax.scheme_of("model.layers.0.block_sparse_moe.gate"), kPlain);
  EXPECT_EQ(minimax.scheme_of("model.layers.0.block_sparse_moe.experts.0.w1"), (LinearScheme{kFp8Block128, kFp8Token128}));

  const QuantConfig v31 = parse(R"({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"})");
  QuantScheme weights = kFp8Block128, inputs = kFp8Token128;
  weights.scale = inputs.scale = DType::f8e8m0;
  EXPECT_EQ(v31.scheme_of("model.layers.0.mlp.up_proj"), (LinearScheme{weights, inputs}));
}

TEST(QuantConfig, Fp8OfOneScale) {
  EXPECT_EQ(parse(R"({"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["model.layers.0.mlp"]})")
                .scheme_of("model.layers.1.mlp.up_proj"),
            (LinearScheme{kFp8Tensor, kFp8TensorStatic}));
  EXPECT_EQ(parse(R"({"quant_method": "fp8", "activation_scheme": "dynamic"})").scheme_of("model.layers.1.mlp.up_proj"),
            (LinearScheme{kFp8Tensor, kFp8TokenDynamic}));
}

TEST(QuantConfig, GptOss) {
  const QuantConfig config = parse(R"({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn",
      "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})");
  EXPECT_EQ(config.scheme_of("model.layers.5.mlp.experts.3.gate_proj"), (LinearScheme{kMxfp4, kF32}));
  EXPECT_EQ(config.scheme_of("model.layers.5.mlp.experts"), (LinearScheme{kMxfp4, kF32}));
  for (const char* name : {"model.layers.5.self_attn.q_proj", "model.layers.5.mlp.router", "model.embed_tokens", "lm_head"})
    EXPECT_EQ(config.scheme_of(name), kPlain) << name;
}

std::string compressed(const std::string& format, const std::string& weights, const std::string& input = "null") {
  return R"({"quant_method": "compressed-tensors", "format": ")" + format +
         R"(", "quantization_status": "compressed", "global_compression_ratio": null,
      "ignore": ["lm_head", "re:.*mlp.gate$"], "kv_cache_scheme": null, "config_groups": {"group_0": {"targets": ["Linear"], "weights": )" +
         weights + R"(, "input_activations": )" + input + R"(, "output_activations": null}}})";
}

TEST(QuantConfig, CompressedTensors) {
  struct Case {
    const char *format, *weights, *input;
    LinearScheme expected;
  };
  QuantScheme g32_zero = kInt4Group128Zero, channel = kInt4Group128, mxfp4_dynamic = kMxfp4;
  g32_zero.scale_cols = 32;
  channel.scale_cols = 0;
  mxfp4_dynamic.dynamic = true;
  const Case cases[] = {
      {"pack-quantized",
       R"({"num_bits": 4, "type": "int", "symmetric": true, "strategy": "group", "group_size": 128, "dynamic": false,
          "actorder": null, "block_structure": null, "observer": "minmax", "observer_kwargs": {}})",
       "null",
       {kInt4Group128, kF32}},
      {"pack-quantized",
       R"({"num_bits": 4, "type": "int", "symmetric": false, "strategy": "group", "group_size": 32, "actorder": "weight"})",
       "null",
       {g32_zero, kF32}},
      {"pack-quantized", R"({"num_bits": 4, "type": "int", "symmetric": true, "strategy": "channel"})", "null", {channel, kF32}},
      {"nvfp4-pack-quantized",
       R"({"num_bits": 4, "type": "float", "symmetric": true, "strategy": "tensor_group", "group_size": 16, "dynamic": false})",
       R"({"num_bits": 4, "type": "float", "symmetric": true, "strategy": "tensor_group", "group_size": 16, "dynamic": "local"})",
       kNvfp4Both},
      {"nvfp4-pack-quantized",
       R"({"num_bits": 4, "type": "float", "symmetric": true, "strategy": "tensor_group", "group_size": 16})",
       "null",
       {kNvfp4, kF32}},
      {"mxfp4-pack-quantized",
       R"({"num_bits": 4, "type": "float", "symmetric": true, "strategy": "group", "group_size": 32, "scale_dtype": "torch.uint8"})",
       "null",
       {kMxfp4, kF32}},
      {"mxfp4-pack-quantized",
       R"({"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32})",
       R"({"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "dynamic": true})",
       {kMxfp4, mxfp4_dynamic}},
      {"float-quantized",
       R"({"num_bits": 8, "type": "float", "symmetric": true, "strategy": "channel", "dynamic": false})",
       R"({"num_bits": 8, "type": "float", "symmetric": true, "strategy": "token", "dynamic": true})",
       {kFp8Channel, kFp8TokenDynamic}},
      {"float-quantized",
       R"({"num_bits": 8, "type": "float", "strategy": "tensor"})",
       R"({"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": false})",
       {kFp8Tensor, kFp8TensorStatic}},
      {"float-quantized",
       R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]})",
       R"({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 128, "dynamic": true})",
       {kFp8Block128, kFp8Token128}},
      {"naive-quantized",
       R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": "128x128"})",
       "null",
       {kFp8Block128, kF32}}};
  for (const Case& c : cases) {
    const QuantConfig config = parse(compressed(c.format, c.weights, c.input));
    EXPECT_EQ(config.scheme_of("model.layers.0.mlp.experts.0.up_proj"), c.expected) << c.format << " " << c.weights;
    EXPECT_EQ(config.scheme_of("lm_head"), kPlain);
    EXPECT_EQ(config.scheme_of("model.layers.0.mlp.gate"), kPlain);
  }
}

TEST(QuantConfig, CompressedTensorsGroupsWithTargetsAndFormats) {
  const QuantConfig config =
      parse(R"({"quant_method": "compressed-tensors", "format": "mixed-precision", "ignore": [], "config_groups": {
      "group_0": {"targets": ["re:.*self_attn.*"], "format": "float-quantized", "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
                  "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": true}},
      "group_1": {"targets": ["re:.*experts.*"], "format": "nvfp4-pack-quantized",
                  "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}}}})");
  EXPECT_EQ(config.scheme_of("model.layers.0.self_attn.q_proj"), (LinearScheme{kFp8Channel, kFp8TokenDynamic}));
  EXPECT_EQ(config.scheme_of("model.layers.0.mlp.experts.0.up_proj"), (LinearScheme{kNvfp4, kF32}));
  EXPECT_EQ(config.scheme_of("model.layers.0.mlp.up_proj"), kPlain);
}

// ---- refusals -------------------------------------------------------------------------------------------------------------------

TEST(QuantConfig, UnknownWordsAreRefusedByKeyAndValue) {
  const char* kInt4 = R"({"num_bits": 4, "type": "int", "symmetric": true, "strategy": "group", "group_size": 128)";
  const std::pair<std::string, const char*> cases[] = {
      {R"({"quant_method": "gptq", "bits": 4})", R"(quantization_config.quant_method = "gptq": supported: "modelopt")"},
      {R"({"bits": 4})", "quantization_config.quant_method"},
      {R"("fp8")", "expected an object"},
      {R"({"quant_method": "modelopt", "quant_algo": "NVFP4_AWQ"})", R"(quant_algo = "NVFP4_AWQ": supported: FP8)"},
      {R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32})", "group_size = 32: supported: 16"},
      {R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"})",
       R"(kv_cache_quant_algo = "NVFP4")"},
      {R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "rotate": true})",
       "quantization_config.rotate = true: this key is not known here"},
      {R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})", "MIXED_PRECISION needs the map"},
      {R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"a.b": {"quant_algo": "INT4_AWQ"}}})",
       R"(quantized_layers.a.b.quant_algo = "INT4_AWQ")"},
      {R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}}})",
       "num_bits = 8: contradicts quant_algo NVFP4"},
      {R"({"quant_method": "fp8", "weight_block_size": [128]})", "weight_block_size = [128]: expected two integers"},
      {R"({"quant_method": "fp8", "weight_block_size": [128, -1]})", "weight_block_size"},
      {R"({"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "static"})", R"(it must be "dynamic")"},
      {R"({"quant_method": "fp8", "fmt": "e5m2"})", R"(fmt = "e5m2")"},
      {R"({"quant_method": "fp8", "store_dtype": "mxfp4"})", R"(store_dtype = "mxfp4")"},
      {R"({"quant_method": "mxfp4", "group_size": 64})", "group_size = 64"},
      {compressed("pack-quantized", R"({"num_bits": 8, "type": "int", "strategy": "channel"})"), "8-bit int, strategy channel"},
      {compressed("int-quantized", R"({"num_bits": 8, "type": "int", "strategy": "channel"})"), "int-quantized"},
      {compressed("pack-quantized", std::string(kInt4) + R"(, "actorder": "group"})"), R"(actorder = "group")"},
      {compressed("pack-quantized", std::string(kInt4) + R"(, "surprise": 1})"), "surprise = 1"},
      {compressed("pack-quantized", std::string(kInt4) + "}",
                  R"({"num_bits": 8, "type": "int", "strategy": "token", "dynamic": true})"),
       "input_activations"},
      {R"({"quant_method": "compressed-tensors", "format": "pack-quantized"})", "config_groups: expected an object of groups"},
      {R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {}, "transform_config": {"a": 1}})",
       "transform_config"},
      {R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {}, "sparsity_config": {"format": "sparse-24-bitmask"}})",
       "sparse weights are not supported"},
      {R"({"quant_method": "compressed-tensors", "format": "f", "config_groups": {"g": {"targets": ["MoEGMM"], "weights": null}}})",
       "class name 'MoEGMM'"},
      {R"({"quant_method": "fp8", "modules_to_not_convert": ["re:("]})", "'re:(' is not a regular expression"},
      {R"({"quant_method": "fp8", "modules_to_not_convert": [1]})", "expected a list of strings"},
      {R"({"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 4, "type": "float"}})", "kv_cache_scheme.num_bits = 4"},
      {R"({"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": true}})",
       "kv_cache_scheme.dynamic = true"},
  };
  for (const auto& [json, words] : cases) EXPECT_TRUE(holds(refused(json), words)) << json;
}

TEST(QuantConfig, AllProblemsAtOnce) {
  const std::string words =
      refused(R"({"quant_method": "fp8", "fmt": "e5m2", "weight_block_size": 128, "surprise": [1], "scale_fmt": "e3m4"})");
  EXPECT_TRUE(holds(words, "4 problems"));
  for (const char* part : {"fmt", "weight_block_size = 128", "surprise = [1]", R"(scale_fmt = "e3m4")"})
    EXPECT_TRUE(holds(words, part));
}

TEST(QuantConfig, PatternsAndGroupsAreLimited) {
  const auto announced = [](std::size_t entries, const std::string& entry) {
    Json ignore = Json::array();
    for (std::size_t i = 0; i < entries; ++i) ignore.push_back(entry + std::to_string(i));
    return Json{{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"ignore", ignore}}.dump();
  };
  EXPECT_EQ(refused(announced(256, "re:model.a")), "");
  EXPECT_TRUE(holds(refused(announced(20000, "re:model.a")), "found 20000 regular expressions (re:) for modules, and at most 256"));
  EXPECT_EQ(refused(announced(1024, "model.*a")), "");
  EXPECT_TRUE(holds(refused(announced(5000, "model.*a")), "found 5000 patterns with wildcards for modules, and at most 1024"));
  EXPECT_EQ(refused(announced(50000, "model.layers.")), "");
  Json groups = Json::object();
  for (int i = 0; i < 300; ++i)
    groups["g" + std::to_string(i)] = {
        {"targets", {"model.a" + std::to_string(i)}},
        {"weights", {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}, {"symmetric", true}}}};
  const Json many{{"quant_method", "compressed-tensors"}, {"format", "float-quantized"}, {"config_groups", groups}};
  EXPECT_TRUE(holds(refused(many.dump()), "found 300 groups for modules, and at most 256"));
}

TEST(QuantConfig, WhatHasNoFormatIsSaidInThoseWords) {
  EXPECT_EQ(refused(R"({"quant_algo": null})"), "");
  const std::string words = refused(
      R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"a.b": {"quant_algo": null}}})");
  EXPECT_TRUE(holds(words, "quantized_layers.a.b.quant_algo: expected the name of a format, found none"));
  EXPECT_EQ(words.find("supported"), std::string::npos) << words;
}

TEST(QuantConfig, TheTypeIsNamedByTheKeyOfTheFile) {
  const auto words = [](const char* json) -> std::string {
    try {
      QuantConfig::parse(Json::parse(json), nullptr);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  };
  EXPECT_TRUE(holds(words(R"({"dtype": "int8"})"), "\n  dtype = \"int8\""));
  EXPECT_TRUE(holds(words(R"({"torch_dtype": "int8"})"), "\n  torch_dtype = \"int8\""));
  EXPECT_TRUE(holds(words(R"({"text_config": {"dtype": 8}})"), "\n  text_config.dtype = 8"));
  EXPECT_EQ(words(R"({"dtype": "bfloat16", "text_config": {"dtype": "float32"}})"), "");
}

TEST(QuantConfig, EmptyUnknownKeysSayNothing) {
  EXPECT_EQ(refused(R"({"quant_method": "fp8", "a": null, "b": false, "c": [], "d": {}, "e": ""})"), "");
}

TEST(QuantConfig, TwoPlacesMustAgree) {
  const char* kFp8 = R"({"quant_method": "fp8"})";
  const char* kMx = R"({"quant_method": "mxfp4"})";
  const auto both = [](const char* outer, const char* inner) {
    return Json::parse(std::string(R"({"quantization_config": )") + outer + R"(, "text_config": {"quantization_config": )" + inner +
                       "}}");
  };
  EXPECT_EQ(QuantConfig::parse(both(kFp8, kFp8), nullptr).scheme_of("a.up_proj").weights, kFp8Tensor);
  EXPECT_EQ(QuantConfig::parse(both("null", kFp8), nullptr).scheme_of("a.up_proj").weights, kFp8Tensor);
  EXPECT_THROW(QuantConfig::parse(both(kFp8, kMx), nullptr), Error);
}

TEST(QuantConfig, SidecarMustAnnounceTheSameFormat) {
  const Json config = Json::parse(std::string(R"({"quantization_config": )") + kModelOptNvfp4 + "}");
  const Json other =
      Json::parse(R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
  EXPECT_THROW(QuantConfig::parse(config, &other), Error);

  const Json same = Json::parse(
      R"({"quantization": {"quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": null, "exclude_modules": ["lm_head"]}})");
  const QuantConfig parsed = QuantConfig::parse(config, &same);
  EXPECT_TRUE(parsed.announces_fp8_kv());
  EXPECT_EQ(parsed.notes().size(), 2u) << "the cache and the exclusions differ";
  EXPECT_EQ(parsed.scheme_of("model.layers.0.self_attn.q_proj"), kPlain) << "config.json's list counts";
}

// ---- fixtures -------------------------------------------------------------------------------------------------------------------

Json read_json(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return parse_json(text, path.filename().string(), {.allow_non_finite = true});
}

// Every linear of the folder's tensors must be announced as what it is: `weight_of(module)` of the given types.
void check_folder(const std::filesystem::path& folder, const LinearScheme& experts, const LinearScheme& attention) {
  for (const char* file : {"config.json", "config.hub.json"}) {
    const Json config = read_json(folder / file);
    const std::filesystem::path sidecar_path = folder / "hf_quant_config.json";
    Json sidecar;
    const bool has_sidecar = std::filesystem::exists(sidecar_path);
    if (has_sidecar) sidecar = read_json(sidecar_path);
    const QuantConfig quant = QuantConfig::parse(config, has_sidecar ? &sidecar : nullptr);
    EXPECT_TRUE(quant.notes().empty());
    for (const char* prefix : {"", "language_model."}) {
      const std::string layer = std::string(prefix) + "model.layers.1.";
      for (const char* name : {"mlp.experts.0.up_proj", "block_sparse_moe.experts.7.w1", "feed_forward.experts.3.gate_proj"})
        EXPECT_EQ(quant.scheme_of(layer + name), experts) << folder << " " << file << " " << layer << name;
      EXPECT_EQ(quant.scheme_of(layer + "self_attn.q_proj"), attention) << folder << " " << file;
      for (const char* name : {"mlp.gate", "block_sparse_moe.gate", "mlp.router", "feed_forward.router"})
        EXPECT_EQ(quant.scheme_of(layer + name), kPlain) << folder << " " << file << " " << name;
      EXPECT_EQ(quant.scheme_of(std::string(prefix) + "lm_head"), kPlain) << folder << " " << file;
    }
    EXPECT_EQ(quant.announces_fp8_kv(), folder.filename() == "qwen3_moe-nvfp4-kvfp8");
  }
}

struct FolderCase {
  const char* name;
  LinearScheme experts, attention;
};
constexpr LinearScheme kBlockFp8{kFp8Block128, kFp8Token128};
constexpr QuantScheme kInt4Group32{Code::int4, 1, 32, DType::bf16, true};

TEST(QuantConfigFixtures, OfThisTree) {
  const auto root = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures";
  const FolderCase cases[] = {{"qwen3_moe-bf16-sharded", kPlain, kPlain},
                              {"qwen3_moe-fp8block-ragged", kBlockFp8, kBlockFp8},
                              {"qwen3_moe-nvfp4-kvfp8", kNvfp4Both, kNvfp4Both}};
  for (const FolderCase& c : cases) check_folder(root / c.name, c.experts, c.attention);
}

TEST(QuantConfigFixtures, OfEveryArchitecture) {
  const auto root = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "../shared/fixtures";
  if (!std::filesystem::exists(root))
    GTEST_SKIP() << "../shared/fixtures is not there: configurations of 20 more models are not read";
  const FolderCase cases[] = {{"deepseek_v3-bf16", kPlain, kPlain},
                              {"deepseek_v3-fp8block-mtp-sharded", kBlockFp8, kBlockFp8},
                              {"deepseek_v3-nvfp4", kNvfp4Both, kPlain},
                              {"gpt_oss-bf16", kPlain, kPlain},
                              {"gpt_oss-mxfp4", {kMxfp4, kF32}, kPlain},
                              {"gpt_oss-mxfp4-ragged", {kMxfp4, kF32}, kPlain},
                              {"llama-bf16", kPlain, kPlain},
                              {"llama-nvfp4", kNvfp4Both, kNvfp4Both},
                              {"llama4-nvfp4-nested", kNvfp4Both, kNvfp4Both},
                              {"llama4-step1-bf16", kPlain, kPlain},
                              {"llama4-step2-nested-bf16", kPlain, kPlain},
                              {"minimax_m2-bf16", kPlain, kPlain},
                              {"minimax_m2-fp8block", kBlockFp8, kBlockFp8},
                              {"minimax_m2-nvfp4-ragged", kNvfp4Both, kPlain},
                              {"mixtral-bf16", kPlain, kPlain},
                              {"nemotron_h-bf16", kPlain, kPlain},
                              {"qwen2_moe-bf16", kPlain, kPlain},
                              {"qwen2_moe-w4a16-g128", {kInt4Group128, kF32}, {kInt4Group128, kF32}},
                              {"qwen2_moe-w4a16-g128-zp", {kInt4Group128Zero, kF32}, {kInt4Group128Zero, kF32}},
                              {"qwen2_moe-w4a16-g32-ragged", {kInt4Group32, kF32}, {kInt4Group32, kF32}},
                              {"qwen3_moe-bf16-sharded", kPlain, kPlain},
                              {"qwen3_moe-fp8block-ragged", kBlockFp8, kBlockFp8},
                              {"qwen3_moe-nvfp4-kvfp8", kNvfp4Both, kNvfp4Both}};
  for (const FolderCase& c : cases) check_folder(root / c.name, c.experts, c.attention);
}

}  // namespace
}  // namespace conclave
