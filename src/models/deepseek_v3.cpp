// DeepSeek-V3, R1 and V2, Kimi-K2: latent attention; the first layers dense, then experts chosen by sigmoid within the best groups
// (V3) or by softmax (V2), beside shared experts. Keys: transformers' DeepseekV3Config and DeepseekV2Config.
#include <cmath>

#include "models/blocks.h"
#include "models/causal_lm.h"
#include "nn/latent_attention.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader)
      : experts(reader.integer({"n_routed_experts"}, 1, 4096)),
        top_k(reader.integer({"num_experts_per_tok"}, 1, experts, 8)),
        expert_inter(reader.integer({"moe_intermediate_size"}, 1, 1 << 24)),
        dense_inter(reader.integer({"intermediate_size"}, 1, 1 << 24)),
        shared(reader.integer({"n_shared_experts"}, 0, 64, 0)),
        dense_layers(reader.integer({"first_k_dense_replace"}, 0, c.layers, 0)),
        moe_step(reader.integer({"moe_layer_freq"}, 1, 4096, 1)),
        q_rank(reader.integer({"q_lora_rank"}, 1, 1 << 20, 0)),
        extra_layers(reader.integer({"num_nextn_predict_layers"}, 0, 64, 0)),
        rope_interleaved(reader.boolean({"rope_interleave"}, true)) {
    dims.heads = c.heads;
    dims.nope_dim = static_cast<std::int32_t>(reader.integer({"qk_nope_head_dim"}, 1, 65536));
    dims.rope_dim = static_cast<std::int32_t>(reader.integer({"qk_rope_head_dim"}, 2, 65536));
    dims.value_dim = static_cast<std::int32_t>(reader.integer({"v_head_dim"}, 1, 65536));
    dims.latent = static_cast<std::int32_t>(reader.integer({"kv_lora_rank"}, 1, 1 << 20));
    read_routing(reader, c.model_type != "deepseek_v2");
    reader.only("hidden_act", {"silu"});
    reader.only("attention_bias", {false});
    reader.throw_problems();
  }
  std::int64_t experts, top_k, expert_inter, dense_inter, shared, dense_layers, moe_step, q_rank, extra_layers;
  bool rope_interleaved;
  LatentAttention::Dims dims;
  moe::RoutingSpec routing;

  bool sparse(std::int32_t layer) const { return layer >= dense_layers && layer % moe_step == 0; }

 private:
  void read_routing(ConfigReader& reader, bool v3) {
    const std::string score = reader.text({"scoring_func"}, v3 ? "sigmoid" : "softmax");
    const std::string method = reader.text({"topk_method"}, v3 ? "noaux_tc" : "greedy");
    reader.only("scoring_func", {"sigmoid", "softmax"});
    reader.only("topk_method", {"noaux_tc", "group_limited_greedy", "greedy"});
    routing.score = score == "sigmoid" ? moe::Score::sigmoid : moe::Score::softmax;
    routing.renorm = reader.boolean({"norm_topk_prob"}, true) ? moe::Renorm::sum : moe::Renorm::none;
    routing.scale = static_cast<float>(reader.number({"routed_scaling_factor"}, 0.0, 1e6, 1.0));
    routing.selection_bias = method == "noaux_tc";
    if (method == "greedy") return;
    routing.group_score = method == "noaux_tc" ? moe::GroupScore::sum_of_two_best : moe::GroupScore::best;
    read_expert_groups(reader, experts, routing);
  }
};

std::unique_ptr<Block> attention(const ModelConfig& c, const Keys& keys, Loader& loader, const std::string& at) {
  LatentAttention::Dims d = keys.dims;
  d.heads = static_cast<std::int32_t>(loader.share(d.heads, "attention heads"));
  LatentAttention::Parts parts;
  parts.dims = d;
  parts.cache_layer = loader.kv_layer(at.substr(0, at.size() - 1));
  parts.norm_eps = c.rms_eps;
  parts.rope = rope_frequencies(c.rope, d.rope_dim);
  parts.rope_interleaved = keys.rope_interleaved;
  // YaRN's temperature acts on scores here, squared, and not on cos and sin.
  const double temperature = c.rope.type == "yarn" ? yarn_mscale(c.rope.factor, c.rope.mscale_all_dim) : 1.0;
  parts.scale = static_cast<float>(temperature * temperature / std::sqrt(static_cast<double>(d.nope_dim + d.rope_dim)));
  auto block = std::make_unique<LatentAttention>(std::move(parts));
  LatentAttention::Parts& p = block->parts();
  const std::int64_t q_width = std::int64_t{d.heads} * (d.nope_dim + d.rope_dim);
  if (keys.q_rank > 0) {
    loader.linear(p.q_a, at + "q_a_proj", keys.q_rank, c.hidden);
    loader.parameter(p.q_norm, at + "q_a_layernorm.weight", keys.q_rank);
    loader.linear(p.q, at + "q_b_proj", q_width, keys.q_rank);
  } else {
    loader.linear(p.q, at + "q_proj", q_width, c.hidden);
  }
  loader.linear(p.kv_a, at + "kv_a_proj_with_mqa", d.latent + d.rope_dim, c.hidden);
  loader.parameter(p.kv_norm, at + "kv_a_layernorm.weight", d.latent);
  loader.derived(at + "kv_b_proj", std::int64_t{d.heads} * (d.nope_dim + d.value_dim), d.latent,
                 [b = block.get()](const QuantMatrix& kv_b, const Ops& ops) { b->set_up_projection(kv_b, ops); });
  loader.linear(p.o, at + "o_proj", c.hidden, std::int64_t{d.heads} * d.value_dim);
  return block;
}

std::unique_ptr<Block> feed_forward(const ModelConfig& c, const Keys& keys, Loader& loader, std::int32_t layer,
                                    const std::string& at) {
  if (!keys.sparse(layer)) return gated_mlp(loader, at, c.hidden, keys.dense_inter);
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.expert_inter);
  problem.routing = keys.routing;
  auto block = moe_block(loader, at, problem);
  MoeLayer::Parts& parts = block->parts();
  if (keys.routing.selection_bias) loader.parameter(parts.selection_bias, at + "gate.e_score_correction_bias", keys.experts);
  if (keys.shared > 0) parts.shared = gated_mlp(loader, at + "shared_experts.", c.hidden, keys.shared * keys.expert_inter);
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    loader.kv_shape(1, keys.dims.latent + keys.dims.rope_dim, keys.dims.latent);
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t, const std::string& at) { return attention(c, keys, loader, at + "self_attn."); },
        [&](std::int32_t layer, const std::string& at) { return feed_forward(c, keys, loader, layer, at + "mlp."); });
    ignore_prediction_layers(c, loader, keys.extra_layers);
  });
}

}  // namespace

extern const Architecture deepseek_v3_architecture;
constexpr std::string_view kNames[] = {"DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM"};
const Architecture deepseek_v3_architecture{kNames, load};

}  // namespace conclave
