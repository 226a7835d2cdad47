// Qwen3-MoE (Qwen3-30B-A3B, 235B-A22B): attention with per-head QK norm, then experts chosen by softmax, without shared experts.
// Keys: transformers' Qwen3MoeConfig; names as published on the Hugging Face hub.
#include "models/blocks.h"
#include "models/causal_lm.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader)
      : experts(reader.integer({"num_experts", "num_local_experts"}, 1, 4096)),
        top_k(reader.integer({"num_experts_per_tok"}, 1, experts, 8)),
        expert_inter(reader.integer({"moe_intermediate_size"}, 1, 1 << 24)),
        dense_inter(reader.integer({"intermediate_size"}, 1, 1 << 24, 1)),
        renormalise(reader.boolean({"norm_topk_prob"}, false)),
        sparse(reader, c.layers) {
    reader.only("hidden_act", {"silu"});
    reader.only("attention_bias", {false});
    reader.only("use_sliding_window", {false});
    reader.only("scoring_func", {"softmax"});
    reader.throw_problems();
  }
  std::int64_t experts, top_k, expert_inter, dense_inter;
  bool renormalise;
  SparseLayers sparse;
};

std::unique_ptr<Block> feed_forward(const ModelConfig& c, const Keys& keys, Loader& loader, std::int32_t layer,
                                    const std::string& at) {
  if (!keys.sparse(layer)) return gated_mlp(loader, at, c.hidden, keys.dense_inter);
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.expert_inter);
  problem.routing.score = moe::Score::softmax;
  problem.routing.renorm = keys.renormalise ? moe::Renorm::sum : moe::Renorm::none;
  return moe_block(loader, at, problem);
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t, const std::string& at) {
          return attention_block(c, loader, at + "self_attn.", {.qk_norm = QkNorm::per_head});
        },
        [&](std::int32_t layer, const std::string& at) { return feed_forward(c, keys, loader, layer, at + "mlp."); });
  });
}

}  // namespace

extern const Architecture qwen3_moe_architecture;
constexpr std::string_view kNames[] = {"Qwen3MoeForCausalLM"};
const Architecture qwen3_moe_architecture{kNames, load};

}  // namespace conclave
