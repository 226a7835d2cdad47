// Qwen3-MoE (Qwen3-30B-A3B, 235B-A22B): every layer grouped-query attention with per-head QK norm, then experts chosen by softmax,
// without shared experts. config: transformers' Qwen3MoeConfig; names as published on the Hugging Face hub.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/causal_lm.h"
#include "models/loader.h"
#include "nn/attention.h"
#include "nn/mlp.h"
#include "nn/moe_layer.h"

namespace conclave {
namespace {

struct Qwen3Moe {
  std::int32_t experts, top_k, expert_inter, dense_inter, sparse_step;
  bool renormalise;
  std::vector<std::int64_t> dense_layers;

  bool sparse(std::int32_t layer) const {
    return std::find(dense_layers.begin(), dense_layers.end(), layer) == dense_layers.end() && (layer + 1) % sparse_step == 0;
  }
};

Qwen3Moe read(const ModelConfig& config) {
  ConfigReader reader(config.json);
  Qwen3Moe out{};
  out.experts = static_cast<std::int32_t>(reader.integer({"num_experts", "num_local_experts"}, 1, 4096));
  out.top_k = static_cast<std::int32_t>(reader.integer({"num_experts_per_tok"}, 1, std::max(1, out.experts), 8));
  out.expert_inter = static_cast<std::int32_t>(reader.integer({"moe_intermediate_size"}, 1, 1 << 24));
  out.dense_inter = static_cast<std::int32_t>(reader.integer({"intermediate_size"}, 1, 1 << 24, 1));
  out.sparse_step = static_cast<std::int32_t>(reader.integer({"decoder_sparse_step"}, 1, 4096, 1));
  out.renormalise = reader.boolean({"norm_topk_prob"}, false);
  out.dense_layers = reader.integers({"mlp_only_layers"}, 0, config.layers - 1);
  reader.only("hidden_act", {"silu"});
  reader.only("attention_bias", {false});
  reader.only("use_sliding_window", {false});
  reader.only("scoring_func", {"softmax"});
  reader.throw_problems();
  return out;
}

std::unique_ptr<Block> attention(const ModelConfig& c, Loader& loader, const std::string& at) {
  Attention::Parts parts;
  parts.spec = {c.heads, c.kv_heads, c.head_dim, 1.0f / std::sqrt(static_cast<float>(c.head_dim)), 0, 0, {}};
  parts.cache_layer = loader.kv_layer(at.substr(0, at.size() - 1));
  parts.qk_norm = QkNorm::per_head;
  parts.norm_eps = c.rms_eps;
  parts.rope = rope_frequencies(c.rope, c.rotary_dim);
  auto block = std::make_unique<Attention>(std::move(parts));
  Attention::Parts& p = block->parts();
  loader.linear(p.q, at + "q_proj", c.heads * c.head_dim, c.hidden);
  loader.linear(p.k, at + "k_proj", c.kv_heads * c.head_dim, c.hidden);
  loader.linear(p.v, at + "v_proj", c.kv_heads * c.head_dim, c.hidden);
  loader.linear(p.o, at + "o_proj", c.hidden, c.heads * c.head_dim);
  loader.parameter(p.q_norm, at + "q_norm.weight", c.head_dim);
  loader.parameter(p.k_norm, at + "k_norm.weight", c.head_dim);
  return block;
}

std::unique_ptr<Block> experts(const ModelConfig& c, const Qwen3Moe& m, Loader& loader, const std::string& at) {
  auto block = std::make_unique<MoeLayer>();
  loader.plain_linear(block->parts().router, at + "gate", m.experts, c.hidden);
  moe::MoeProblem problem;
  problem.experts = problem.local_count = m.experts;
  problem.top_k = m.top_k;
  problem.hidden = c.hidden;
  problem.inter = m.expert_inter;
  problem.routing.score = moe::Score::softmax;
  problem.routing.renorm = m.renormalise ? moe::Renorm::sum : moe::Renorm::none;
  loader.experts(block->parts().experts, at + "experts", problem, [at](std::int32_t expert, Loader::Part part) {
    constexpr std::string_view kNames[] = {"gate_proj", "up_proj", "down_proj"};
    return fmt::format("{}experts.{}.{}", at, expert, kNames[static_cast<int>(part)]);
  });
  return block;
}

std::unique_ptr<Block> dense(const ModelConfig& c, const Qwen3Moe& m, Loader& loader, const std::string& at) {
  auto block = std::make_unique<Mlp>(Elementwise::silu);
  loader.linear(block->parts().gate, at + "gate_proj", m.dense_inter, c.hidden);
  loader.linear(block->parts().up, at + "up_proj", m.dense_inter, c.hidden);
  loader.linear(block->parts().down, at + "down_proj", c.hidden, m.dense_inter);
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Qwen3Moe m = read(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    for (std::int32_t layer = 0; layer < c.layers; ++layer) {
      const std::string at = fmt::format("model.layers.{}.", layer);
      add_block(loader, blocks, at + "input_layernorm.weight", c.hidden, attention(c, loader, at + "self_attn."));
      add_block(loader, blocks, at + "post_attention_layernorm.weight", c.hidden,
                m.sparse(layer) ? experts(c, m, loader, at + "mlp.") : dense(c, m, loader, at + "mlp."));
    }
  });
}

}  // namespace

extern const Architecture qwen3_moe_architecture;
const Architecture qwen3_moe_architecture{"Qwen3MoeForCausalLM", load};

}  // namespace conclave
