#include "tests/conformance/moe_cases.h"

#include <fmt/format.h>

#include <cctype>

#include "tests/moe/random_experts.h"
#include "tests/moe/routing_methods.h"

namespace conclave::moe {
namespace {

MoeProblem sized(int hidden, int inter, const QuantScheme& weights = kBf16) {
  MoeProblem p = small_problem();
  p.hidden = hidden;
  p.inter = inter;
  p.weights = weights;
  return p;
}

std::string word_of(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return text;
}

QuantScheme int4(int group, bool zero_point) {
  QuantScheme s = zero_point ? kInt4Group128Zero : kInt4Group128;
  s.scale_cols = static_cast<std::int16_t>(group);
  return s;
}

QuantScheme fp8_block_of(DType scale) {
  QuantScheme s = kFp8Block128;
  s.scale = scale;
  return s;
}

void add_formats(std::vector<MoeCase>& all) {
  all.push_back({"f32", sized(176, 96, kF32)});
  all.push_back({"bf16", sized(208, 144, kBf16)});
  all.push_back({"f16", sized(64, 48, kF16)});
  all.push_back({"fp8_block128_ragged", sized(208, 144, kFp8Block128)});
  all.push_back({"fp8_block128_bf16_scales", sized(208, 144, fp8_block_of(DType::bf16))});
  all.push_back({"fp8_block128_e8m0_scales", sized(208, 144, fp8_block_of(DType::f8e8m0))});
  all.push_back({"B015_fp8_block128_inter_320", sized(256, 320, kFp8Block128)});  // the last block is half full
  all.push_back({"fp8_channel", sized(176, 96, kFp8Channel)});
  all.push_back({"fp8_tensor", sized(208, 144, kFp8Tensor)});
  all.push_back({"mxfp8", sized(208, 144, {Code::f8e4m3, 1, 32, DType::f8e8m0, true})});
  all.push_back({"nvfp4", sized(176, 96, kNvfp4)});
  all.push_back({"nvfp4_odd_tiles", sized(208, 144, kNvfp4)});
  all.push_back({"nvfp4_hidden_2888", sized(2888, 96, kNvfp4)});  // not a whole number of blocks
  all.push_back({"mxfp4", sized(160, 96, kMxfp4)});
  all.push_back({"mxfp4_inter_144", sized(160, 144, kMxfp4)});  // not a whole number of blocks
  all.push_back({"B019_mxfp4_2880", sized(2880, 96, kMxfp4)});
  all.push_back({"B019_mxfp4_2888", sized(2888, 72, kMxfp4)});  // neither is a multiple of the block of 32
  for (const bool zero : {false, true})
    for (const int group : {32, 128})
      all.push_back({fmt::format("int4_g{}{}", group, zero ? "_zp" : ""), sized(256, 128, int4(group, zero))});
  all.push_back({"int4_g32_ragged", sized(208, 144, int4(32, false))});
  all.push_back({"int4_channel", sized(208, 144, int4(0, false))});
}

void add_activation_formats(std::vector<MoeCase>& all) {
  const auto with = [](MoeProblem p, const QuantScheme& activations) {
    p.activations = activations;
    return p;
  };
  all.push_back({"nvfp4_x_nvfp4", with(sized(176, 96, kNvfp4), kNvfp4Activation)});
  all.push_back({"nvfp4_x_bf16", with(sized(176, 96, kNvfp4), kBf16)});
  all.push_back({"fp8_block128_x_fp8_token128", with(sized(208, 144, kFp8Block128), kFp8Token128)});
  all.push_back({"fp8_channel_x_fp8_token", with(sized(176, 96, kFp8Channel), kFp8TokenDynamic)});
  all.push_back({"fp8_tensor_x_fp8_tensor", with(sized(176, 96, kFp8Tensor), kFp8TensorStatic)});
}

void add_routing(std::vector<MoeCase>& all) {
  for (const RoutingMethod& m : kRoutingMethods) {
    MoeProblem p = sized(64, 48);
    p.experts = p.local_count = 16;
    p.top_k = m.top_k != 0 ? m.top_k : 4;
    p.routing = m.spec;
    all.push_back({"routing_" + std::string(m.name), p});
  }
  MoeProblem p = sized(64, 48);
  p.router_logits = DType::bf16;
  all.push_back({"routing_bf16_logits", p});
  p = sized(64, 48);
  p.experts = p.local_count = 96;
  p.top_k = 32;
  all.push_back({"routing_top_32_of_96", p});
  p = sized(64, 48);
  p.top_k = p.experts;
  all.push_back({"routing_all_experts", p});
  p = sized(64, 48);
  p.experts = p.local_count = p.top_k = 1;
  all.push_back({"routing_single_expert", p});
  p = sized(176, 96, kNvfp4);
  p.top_k = 1;
  p.routing = llama4_routing();
  all.push_back({"routing_weight_on_input_nvfp4", p});
}

void add_activations(std::vector<MoeCase>& all) {
  const ActivationSpec specs[] = {
      {Activation::silu, true, 1.0f, 0.0f, 0.5f},
      {Activation::gelu, true},
      {Activation::gelu_tanh, true},
      {Activation::relu2, true},
      {Activation::identity, true},
      {Activation::swiglu_oai, true, 1.702f, 1.0f, 0.5f},
      {Activation::swiglu_oai, true, 1.5f, 0.5f, 7},
      {Activation::silu, false},
      {Activation::gelu, false},
      {Activation::relu2, false},
  };
  for (const ActivationSpec& spec : specs)
    for (const bool bias : {false, true}) {
      MoeProblem p = sized(80, 144);
      p.activation = spec;
      p.expert_bias = bias;
      all.push_back({word_of(to_string(spec)) + (bias ? "_bias" : ""), p});
    }
  MoeProblem p = sized(160, 96, kMxfp4);
  p.activation = {Activation::swiglu_oai, true, 1.702f, 1.0f, 7.0f};
  p.expert_bias = true;
  p.top_k = 4;
  p.routing = routing(Score::softmax, Renorm::softmax_topk);
  all.push_back({"gpt_oss", p});
}

void add_splits_and_sizes(std::vector<MoeCase>& all) {
  MoeProblem p = sized(64, 48);
  p.local_first = 3;
  p.local_count = 4;
  all.push_back({"experts_3_to_6", p});
  p.local_count = 0;
  all.push_back({"no_local_expert", p});
  p = sized(64, 48);
  p.io = DType::bf16;
  all.push_back({"bf16_in_and_out", p});
  all.push_back({"tiny", sized(8, 8)});
  all.push_back({"odd", sized(33, 7)});
  all.push_back({"wide", sized(512, 24)});
  all.push_back({"long", sized(24, 512)});
  p = sized(64, 48);
  p.top_k = 9;
  all.push_back({"more_choices_than_experts", p});
}

}  // namespace

std::vector<MoeCase> all_moe_cases() {
  std::vector<MoeCase> all;
  add_formats(all);
  add_activation_formats(all);
  add_routing(all);
  add_activations(all);
  add_splits_and_sizes(all);
  return all;
}

}  // namespace conclave::moe
