#include "tests/models/random_hybrid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "base/bf16.h"
#include "checkpoint/safetensors_writer.h"

namespace conclave {
namespace {

constexpr std::int64_t kMambaHeads = 4, kMambaDim = 16, kGroups = 2, kStates = 8, kConv = 4, kHeads = 4, kKvHeads = 2,
                       kHeadDim = 16;

}  // namespace

RandomHybrid::RandomHybrid(const std::string& pattern, unsigned seed)
    : config({{"architectures", {"NemotronHForCausalLM"}},
              {"model_type", "nemotron_h"},
              {"hybrid_override_pattern", pattern},
              {"num_hidden_layers", pattern.size()},
              {"hidden_size", kHidden},
              {"vocab_size", kVocab},
              {"num_attention_heads", kHeads},
              {"num_key_value_heads", kKvHeads},
              {"head_dim", kHeadDim},
              {"intermediate_size", kShared},
              {"layer_norm_epsilon", 1e-5},
              {"max_position_embeddings", 512},
              {"mlp_hidden_act", "relu2"},
              {"mamba_num_heads", kMambaHeads},
              {"mamba_head_dim", kMambaDim},
              {"n_groups", kGroups},
              {"ssm_state_size", kStates},
              {"conv_kernel", kConv},
              {"n_routed_experts", kExperts},
              {"num_experts_per_tok", kTopK},
              {"moe_intermediate_size", kInter},
              {"n_shared_experts", 1},
              {"moe_shared_expert_intermediate_size", kShared},
              {"norm_topk_prob", true},
              {"routed_scaling_factor", 2.5},
              {"n_group", 1},
              {"topk_group", 1}}) {
  std::mt19937 random(seed);
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape, float mean, float deviation) {
    std::normal_distribution<float> normal(mean, deviation);
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    Values values{std::move(shape), {}};
    for (std::int64_t i = 0; i < count; ++i) values.data.push_back(bf16::from_float(normal(random)).to_float());
    tensors[name] = std::move(values);
  };
  const auto linear = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
    add(name + ".weight", {rows, cols}, 0.0f, 1.0f / std::sqrt(static_cast<float>(cols)));
  };
  const std::int64_t inner = kMambaHeads * kMambaDim, channels = inner + 2 * kGroups * kStates;
  add("backbone.embeddings.weight", {kVocab, kHidden}, 0.0f, 1.0f);
  add("backbone.norm_f.weight", {kHidden}, 1.0f, 0.1f);
  add("lm_head.weight", {kVocab, kHidden}, 0.0f, 0.5f);
  for (std::size_t layer = 0; layer < pattern.size(); ++layer) {
    const std::string at = "backbone.layers." + std::to_string(layer) + ".", mixer = at + "mixer.";
    add(at + "norm.weight", {kHidden}, 1.0f, 0.1f);
    switch (pattern[layer]) {
      case 'M':
        linear(mixer + "in_proj", inner + channels + kMambaHeads, kHidden);
        linear(mixer + "out_proj", kHidden, inner);
        add(mixer + "conv1d.weight", {channels, 1, kConv}, 0.0f, 0.5f);
        add(mixer + "conv1d.bias", {channels}, 0.0f, 0.1f);
        for (const char* name : {"A_log", "dt_bias", "D"}) add(mixer + name, {kMambaHeads}, 0.0f, 1.0f);
        add(mixer + "norm.weight", {inner}, 1.0f, 0.1f);
        break;
      case '*':
        linear(mixer + "q_proj", kHeads * kHeadDim, kHidden);
        linear(mixer + "k_proj", kKvHeads * kHeadDim, kHidden);
        linear(mixer + "v_proj", kKvHeads * kHeadDim, kHidden);
        linear(mixer + "o_proj", kHidden, kHeads * kHeadDim);
        break;
      case '-':
        linear(mixer + "up_proj", kShared, kHidden);
        linear(mixer + "down_proj", kHidden, kShared);
        break;
      default:
        linear(mixer + "gate", kExperts, kHidden);
        add(mixer + "gate.e_score_correction_bias", {kExperts}, 0.0f, 0.3f);
        for (std::int64_t e = 0; e < kExperts; ++e) {
          linear(mixer + "experts." + std::to_string(e) + ".up_proj", kInter, kHidden);
          linear(mixer + "experts." + std::to_string(e) + ".down_proj", kHidden, kInter);
        }
        linear(mixer + "shared_experts.up_proj", kShared, kHidden);
        linear(mixer + "shared_experts.down_proj", kHidden, kShared);
    }
  }
}

std::filesystem::path RandomHybrid::write(const std::string& name) const {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config;
  std::map<std::string, std::vector<bf16>> stored;
  std::vector<NamedTensor> named;
  for (const auto& [tensor, values] : tensors) {
    std::vector<bf16>& bytes = stored[tensor];
    for (float v : values.data) bytes.push_back(bf16::from_float(v));
    Shape shape;
    for (std::int64_t extent : values.shape) shape.push_back(extent);
    named.push_back({tensor, ConstTensorView(reinterpret_cast<const std::byte*>(bytes.data()), DType::bf16, shape)});
  }
  write_safetensors(folder / "model.safetensors", named);
  return folder;
}

}  // namespace conclave
