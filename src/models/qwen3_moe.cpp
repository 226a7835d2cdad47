// Qwen3-MoE (Qwen3-30B-A3B, 235B-A22B): attention with per-head QK norm, then experts chosen by softmax, without shared experts.
// Keys: transformers' Qwen3MoeConfig; names as published on the Hugging Face hub.
#include <fmt/format.h>

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

std::unique_ptr<Block> experts(const ModelConfig& c, const Keys& keys, Loader& loader, const std::string& at) {
  auto block = std::make_unique<MoeLayer>();
  loader.plain_linear(block->parts().router, at + "gate", keys.experts, c.hidden);
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.expert_inter);
  problem.routing.score = moe::Score::softmax;
  problem.routing.renorm = keys.renormalise ? moe::Renorm::sum : moe::Renorm::none;
  loader.experts(block->parts().experts, at + "experts", problem, expert_modules(at, kGateUpDown));
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    for (std::int32_t layer = 0; layer < c.layers; ++layer) {
      const std::string at = fmt::format("model.layers.{}.", layer);
      add_block(loader, blocks, at + "input_layernorm.weight", c.hidden,
                attention_block(c, loader, at + "self_attn.", {.qk_norm = QkNorm::per_head}));
      add_block(loader, blocks, at + "post_attention_layernorm.weight", c.hidden,
                keys.sparse(layer) ? experts(c, keys, loader, at + "mlp.")
                                   : std::unique_ptr<Block>(gated_mlp(loader, at + "mlp.", c.hidden, keys.dense_inter)));
    }
  });
}

}  // namespace

extern const Architecture qwen3_moe_architecture;
constexpr std::string_view kNames[] = {"Qwen3MoeForCausalLM"};
const Architecture qwen3_moe_architecture{kNames, load};

}  // namespace conclave
