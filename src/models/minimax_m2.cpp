// MiniMax-M2 and M2.5: attention with QK norm over the full width and half-rotary positions; experts chosen by sigmoid plus a bias
// that only the choice sees. Keys: the published config.json; w1 is the gate, w3 the up and w2 the down projection.
#include <fmt/format.h>

#include "models/blocks.h"
#include "models/causal_lm.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader)
      : experts(reader.integer({"num_local_experts"}, 1, 4096)),
        top_k(reader.integer({"num_experts_per_tok"}, 1, experts, 8)),
        inter(reader.integer({"intermediate_size"}, 1, 1 << 24)),
        qk_norm(reader.boolean({"use_qk_norm"}, true)) {
    reader.only("hidden_act", {"silu"});
    reader.only("scoring_func", {"sigmoid"});
    reader.only("use_routing_bias", {true});
    reader.only("qk_norm_type", {"per_layer"});
    reader.only("shared_intermediate_size", {std::int64_t{0}});
    for (std::int64_t type : reader.integers({"attn_type_list"}, 0, 16))
      if (type != 1) reader.problem(fmt::format("attn_type_list: {} is not supported (1: softmax attention)", type));
    if (c.rotary_dim > c.head_dim) reader.problem("rotary_dim is larger than head_dim");
    reader.throw_problems();
  }
  std::int64_t experts, top_k, inter;
  bool qk_norm;
};

std::unique_ptr<Block> experts(const ModelConfig& c, const Keys& keys, Loader& loader, const std::string& at) {
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.inter);
  problem.routing.score = moe::Score::sigmoid;
  problem.routing.renorm = moe::Renorm::sum;
  problem.routing.selection_bias = true;
  auto block = moe_block(loader, at, problem, {.experts = kW1W3W2});
  loader.parameter(block->parts().selection_bias, at + "e_score_correction_bias", keys.experts);
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  const AttentionOptions attention{.qk_norm = keys.qk_norm ? QkNorm::full : QkNorm::none};
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t, const std::string& at) { return attention_block(c, loader, at + "self_attn.", attention); },
        [&](std::int32_t, const std::string& at) { return experts(c, keys, loader, at + "block_sparse_moe."); });
  });
}

}  // namespace

extern const Architecture minimax_m2_architecture;
constexpr std::string_view kNames[] = {"MiniMaxM2ForCausalLM"};
const Architecture minimax_m2_architecture{kNames, load};

}  // namespace conclave
