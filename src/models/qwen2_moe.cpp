// Qwen1.5-MoE and Qwen2-MoE: attention with biases on q, k and v; experts chosen by softmax, usually not renormalised; a shared
// expert behind a sigmoid gate. Keys: transformers' Qwen2MoeConfig.
#include "models/blocks.h"
#include "models/causal_lm.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader)
      : experts(reader.integer({"num_experts", "num_local_experts"}, 1, 4096)),
        top_k(reader.integer({"num_experts_per_tok"}, 1, experts, 4)),
        expert_inter(reader.integer({"moe_intermediate_size"}, 1, 1 << 24)),
        shared_inter(reader.integer({"shared_expert_intermediate_size"}, 1, 1 << 24)),
        dense_inter(reader.integer({"intermediate_size"}, 1, 1 << 24, 1)),
        renormalise(reader.boolean({"norm_topk_prob"}, false)),
        qkv_bias(reader.boolean({"qkv_bias"}, true)),
        sparse(reader, c.layers) {
    reader.only("hidden_act", {"silu"});
    reader.only("use_sliding_window", {false});
    reader.throw_problems();
  }
  std::int64_t experts, top_k, expert_inter, shared_inter, dense_inter;
  bool renormalise, qkv_bias;
  SparseLayers sparse;
};

std::unique_ptr<Block> feed_forward(const ModelConfig& c, const Keys& keys, Loader& loader, std::int32_t layer,
                                    const std::string& at) {
  if (!keys.sparse(layer)) return gated_mlp(loader, at, c.hidden, keys.dense_inter);
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.expert_inter);
  problem.routing.renorm = keys.renormalise ? moe::Renorm::sum : moe::Renorm::none;
  auto block = moe_block(loader, at, problem);
  MoeLayer::Parts& parts = block->parts();
  parts.shared = gated_mlp(loader, at + "shared_expert.", c.hidden, keys.shared_inter);
  loader.plain_linear(parts.shared_gate, at + "shared_expert_gate", 1, c.hidden);
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  const AttentionOptions attention{.qkv_bias = keys.qkv_bias ? Bias::required : Bias::none};
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t, const std::string& at) { return attention_block(c, loader, at + "self_attn.", attention); },
        [&](std::int32_t layer, const std::string& at) { return feed_forward(c, keys, loader, layer, at + "mlp."); });
  });
}

}  // namespace

extern const Architecture qwen2_moe_architecture;
constexpr std::string_view kNames[] = {"Qwen2MoeForCausalLM"};
const Architecture qwen2_moe_architecture{kNames, load};

}  // namespace conclave
