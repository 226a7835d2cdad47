#pragma once
// Blocks under the names and shapes that most publishers use, for architectures to list. `at` is a path with its last dot:
// "model.layers.3.self_attn.".
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"
#include "models/loader.h"
#include "nn/attention.h"
#include "nn/decoder.h"
#include "nn/mlp.h"
#include "nn/moe_layer.h"

namespace conclave {

// Layers "<root>layers.<i>." of an attention behind input_layernorm and a feed-forward block behind post_attention_layernorm. Both
// are made by the architecture, from the layer's index and path.
using MakeBlock = std::function<std::unique_ptr<Block>(std::int32_t layer, const std::string& at)>;
void add_layers(const ModelConfig&, Loader&, std::vector<Decoder::ResidualBlock>&, const std::string& root,
                const MakeBlock& attention, const MakeBlock& feed_forward);

struct AttentionOptions {
  QkNorm qk_norm = QkNorm::none;
  Bias qkv_bias = Bias::none, o_bias = Bias::none;
  bool rope = true, rope_interleaved = false;
  std::int32_t window = 0, chunk = 0;  // as AttentionSpec has them; 0: all positions are seen
  bool sinks = false;
  QueryTemperature temperature = {};
};
// q_proj, k_proj, v_proj, o_proj, and q_norm, k_norm where there are some.
std::unique_ptr<Block> attention_block(const ModelConfig&, Loader&, const std::string& at, const AttentionOptions&);

// gate_proj, up_proj, down_proj with silu.
std::unique_ptr<Mlp> gated_mlp(Loader&, const std::string& at, std::int64_t hidden, std::int64_t width);
// What Loader::share() calls the width of dense MLPs, shared experts among them.
inline constexpr std::string_view kMlpWidth = "inner values of a dense MLP";

// Problem of a layer whose experts are all here; routing and activation are the architecture's to set.
moe::MoeProblem expert_problem(std::int64_t experts, std::int64_t top_k, std::int64_t hidden, std::int64_t inter);

// Selection from the best groups of experts, into `groups` and `top_groups`: keys "n_group", "topk_group" (DeepSeek). Absent: one
// group.
void read_expert_groups(ConfigReader&, std::int64_t experts, moe::RoutingSpec&);

// Layers behind the last, for predicting several tokens at once (DeepSeek, GLM): published, not run, and said so.
void ignore_prediction_layers(const ModelConfig&, Loader&, std::int64_t extra);

// "<at>experts.<e>.<name>" with the published names of gate, up and down.
inline constexpr std::array<std::string_view, 3> kGateUpDown{"gate_proj", "up_proj", "down_proj"};
inline constexpr std::array<std::string_view, 3> kW1W3W2{"w1", "w3", "w2"};
Loader::ExpertModule expert_modules(const std::string& at, std::array<std::string_view, 3> names);

// "sliding_window" of Mistral and Qwen: null says that there is none (0); without the key it is 4096.
std::int32_t read_window(ConfigReader&);
// "layer_types" into `sliding`, one per layer; without the key nothing changes.
void read_layer_types(ConfigReader&, std::vector<bool>& sliding);

// How far layer `layer` sees, 0: everything, by layer_types or, without it, by use_sliding_window and max_window_layers (Qwen).
class LayerWindows {
 public:
  LayerWindows(ConfigReader&, std::int32_t layers);
  std::int32_t operator()(std::int32_t layer) const { return sliding_[static_cast<std::size_t>(layer)] ? window_ : 0; }

 private:
  std::int32_t window_;
  std::vector<bool> sliding_;
};

struct MoeNames {
  std::string_view router = "gate";
  std::array<std::string_view, 3> experts = kGateUpDown;
  Bias router_bias = Bias::none;
};
// Router and routed experts; what else the layer has is the architecture's to add. `source` as in Loader::experts().
std::unique_ptr<MoeLayer> moe_block(Loader&, const std::string& at, const moe::MoeProblem&, const MoeNames&,
                                    const TensorSource& source);
std::unique_ptr<MoeLayer> moe_block(Loader&, const std::string& at, const moe::MoeProblem&, const MoeNames& = {});

// Whether layer `layer` has experts, by decoder_sparse_step and mlp_only_layers (Qwen).
class SparseLayers {
 public:
  SparseLayers(ConfigReader&, std::int32_t layers);
  bool operator()(std::int32_t layer) const;

 private:
  std::int64_t step_;
  std::vector<std::int64_t> dense_;
};

}  // namespace conclave
