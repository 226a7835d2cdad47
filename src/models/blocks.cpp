#include "models/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/json.h"
#include "models/causal_lm.h"

namespace conclave {

void add_layers(const ModelConfig& c, Loader& loader, std::vector<Decoder::ResidualBlock>& blocks, const std::string& root,
                const MakeBlock& attention, const MakeBlock& feed_forward) {
  for (std::int32_t layer = 0; layer < c.layers; ++layer) {
    const std::string at = fmt::format("{}layers.{}.", root, layer);
    add_block(loader, blocks, at + "input_layernorm.weight", c.hidden, attention(layer, at));
    add_block(loader, blocks, at + "post_attention_layernorm.weight", c.hidden, feed_forward(layer, at));
  }
}

std::unique_ptr<Block> attention_block(const ModelConfig& c, Loader& loader, const std::string& at,
                                       const AttentionOptions& options) {
  const auto heads = static_cast<std::int32_t>(loader.share(c.heads, "attention heads"));
  const auto kv_heads = static_cast<std::int32_t>(loader.share_or_copy(c.kv_heads, "key-value heads"));
  loader.kv_shape(kv_heads, c.head_dim, 0);
  Attention::Parts parts;
  parts.spec = {heads, kv_heads, c.head_dim, 1.0f / std::sqrt(static_cast<float>(c.head_dim)), options.window, options.chunk, {}};
  parts.temperature = options.temperature;
  parts.cache_layer = loader.kv_layer(at.substr(0, at.size() - 1));
  parts.qk_norm = options.qk_norm;
  parts.norm_eps = c.rms_eps;
  if (options.rope) parts.rope = rope_frequencies(c.rope, c.rotary_dim);
  parts.rope_interleaved = options.rope_interleaved;
  auto block = std::make_unique<Attention>(std::move(parts));
  Attention::Parts& p = block->parts();
  const std::int64_t q_width = std::int64_t{heads} * c.head_dim, kv_width = std::int64_t{kv_heads} * c.head_dim;
  loader.linear(p.q, at + "q_proj", q_width, c.hidden, options.qkv_bias);
  loader.linear(p.k, at + "k_proj", kv_width, c.hidden, options.qkv_bias);
  loader.linear(p.v, at + "v_proj", kv_width, c.hidden, options.qkv_bias);
  loader.linear(p.o, at + "o_proj", c.hidden, q_width, options.o_bias);
  if (options.sinks) loader.parameter(p.sinks, at + "sinks", heads);
  if (options.qk_norm == QkNorm::per_head || options.qk_norm == QkNorm::full) {
    const bool full = options.qk_norm == QkNorm::full;
    loader.parameter(p.q_norm, at + "q_norm.weight", full ? q_width : c.head_dim);
    loader.parameter(p.k_norm, at + "k_norm.weight", full ? kv_width : c.head_dim);
  }
  return block;
}

std::unique_ptr<Mlp> gated_mlp(Loader& loader, const std::string& at, std::int64_t hidden, std::int64_t width) {
  const std::int64_t inter = loader.share(width, kMlpWidth);
  auto block = std::make_unique<Mlp>(Elementwise::silu);
  loader.linear(block->parts().gate, at + "gate_proj", inter, hidden);
  loader.linear(block->parts().up, at + "up_proj", inter, hidden);
  loader.linear(block->parts().down, at + "down_proj", hidden, inter);
  return block;
}

moe::MoeProblem expert_problem(std::int64_t experts, std::int64_t top_k, std::int64_t hidden, std::int64_t inter) {
  moe::MoeProblem problem;
  problem.experts = problem.local_count = static_cast<std::int32_t>(experts);
  problem.top_k = static_cast<std::int32_t>(top_k);
  problem.hidden = static_cast<std::int32_t>(hidden);
  problem.inter = static_cast<std::int32_t>(inter);
  return problem;
}

void read_expert_groups(ConfigReader& reader, std::int64_t experts, moe::RoutingSpec& routing) {
  routing.groups = static_cast<std::int16_t>(reader.integer({"n_group"}, 1, 1024, 1));
  routing.top_groups = static_cast<std::int16_t>(reader.integer({"topk_group"}, 1, routing.groups, 1));
  if (experts % routing.groups != 0)
    reader.contradiction({"n_routed_experts", "n_group"},
                         fmt::format("n_routed_experts {} is not a multiple of n_group {}", experts, routing.groups));
}

void ignore_prediction_layers(const ModelConfig& c, Loader& loader, std::int64_t extra) {
  for (std::int64_t i = 0; i < extra; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", c.layers + i);
    // What every one has and no other layer: a wrong num_hidden_layers must not pass for one.
    if (loader.has(layer + "eh_proj.weight")) loader.ignore_prefix(layer, "multi-token prediction is not used");
  }
}

std::int32_t read_window(ConfigReader& reader) {
  if (reader.is_null("sliding_window")) return 0;
  return static_cast<std::int32_t>(reader.integer({"sliding_window"}, 1, 1 << 30, 4096));
}

void read_layer_types(ConfigReader& reader, std::vector<bool>& sliding) {
  const Json* types = reader.find({"layer_types"});
  if (types == nullptr) return;
  if (!types->is_array() || types->size() != sliding.size())
    return reader.problem(fmt::format("layer_types: expected a list of {} texts", sliding.size()));
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    if ((*types)[i] != "sliding_attention" && (*types)[i] != "full_attention")
      return reader.problem(fmt::format("layer_types: {} is not one of sliding_attention, full_attention", (*types)[i].dump()));
    sliding[i] = (*types)[i] == "sliding_attention";
  }
}

LayerWindows::LayerWindows(ConfigReader& reader, std::int32_t layers)
    : window_(reader.boolean({"use_sliding_window"}, false) ? read_window(reader) : 0) {
  const std::int64_t first = reader.integer({"max_window_layers"}, 0, 1 << 30, 28);
  for (std::int32_t layer = 0; layer < layers; ++layer) sliding_.push_back(window_ > 0 && layer >= first);
  read_layer_types(reader, sliding_);
  if (window_ == 0 && std::find(sliding_.begin(), sliding_.end(), true) != sliding_.end())
    reader.problem("layer_types has sliding_attention, and use_sliding_window or sliding_window says that there is no window");
}

Loader::ExpertModule expert_modules(const std::string& at, std::array<std::string_view, 3> names) {
  return [at, names](std::int32_t expert, Loader::Part part) {
    return fmt::format("{}experts.{}.{}", at, expert, names[static_cast<std::size_t>(part)]);
  };
}

std::unique_ptr<MoeLayer> moe_block(Loader& loader, const std::string& at, const moe::MoeProblem& whole, const MoeNames& names,
                                    const TensorSource& source) {
  moe::MoeProblem problem = whole;
  problem.inter = static_cast<std::int32_t>(loader.share(whole.inter, "inner values of an expert"));
  auto block = std::make_unique<MoeLayer>();
  MoeLayer::Parts& parts = block->parts();
  loader.plain_linear(parts.router, at + std::string(names.router), problem.experts, problem.hidden, names.router_bias);
  loader.experts(parts.experts, at + "experts", problem, expert_modules(at, names.experts), source);
  return block;
}

std::unique_ptr<MoeLayer> moe_block(Loader& loader, const std::string& at, const moe::MoeProblem& problem, const MoeNames& names) {
  return moe_block(loader, at, problem, names, loader.source());
}

SparseLayers::SparseLayers(ConfigReader& reader, std::int32_t layers)
    : step_(reader.integer({"decoder_sparse_step"}, 1, 4096, 1)), dense_(reader.integers({"mlp_only_layers"}, 0, layers - 1)) {}

bool SparseLayers::operator()(std::int32_t layer) const {
  return std::find(dense_.begin(), dense_.end(), layer) == dense_.end() && (layer + 1) % step_ == 0;
}

}  // namespace conclave
