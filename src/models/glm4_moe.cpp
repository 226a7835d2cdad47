// GLM-4.5, 4.5-Air and 4.6: attention with biases on q, k and v that turns part of each head, with per-head QK norm in the
// large ones; the first layers dense, then experts chosen by sigmoid plus a bias that only the choice sees, beside shared experts.
// Keys: transformers' Glm4MoeConfig.
#include "io/json.h"
#include "models/blocks.h"
#include "models/causal_lm.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader)
      : experts(reader.integer({"n_routed_experts", "num_local_experts"}, 1, 4096)),
        top_k(reader.integer({"num_experts_per_tok"}, 1, experts, 8)),
        expert_inter(reader.integer({"moe_intermediate_size"}, 1, 1 << 24)),
        dense_inter(reader.integer({"intermediate_size"}, 1, 1 << 24)),
        shared(reader.integer({"n_shared_experts"}, 1, 64, 1)),
        dense_layers(reader.integer({"first_k_dense_replace"}, 0, c.layers, 1)),
        extra_layers(reader.integer({"num_nextn_predict_layers", "num_mtp_layers"}, 0, 64, 0)) {
    attention.qk_norm = reader.boolean({"use_qk_norm"}, false) ? QkNorm::per_head : QkNorm::none;
    attention.qkv_bias = reader.boolean({"attention_bias"}, false) ? Bias::required : Bias::none;
    routing.score = moe::Score::sigmoid;
    routing.renorm = reader.boolean({"norm_topk_prob"}, true) ? moe::Renorm::sum : moe::Renorm::none;
    routing.scale = static_cast<float>(reader.number({"routed_scaling_factor"}, 0.0, 1e6, 1.0));
    routing.selection_bias = true;
    routing.group_score = moe::GroupScore::sum_of_two_best;
    read_expert_groups(reader, experts, routing);
    reader.only("hidden_act", {"silu"});
    reader.only("scoring_func", {"sigmoid"});
    reader.only("topk_method", {"noaux_tc"});
    if (!says_what_turns(reader)) reader.problem("partial_rotary_factor is missing (every published configuration has it)");
    reader.throw_problems();
  }
  std::int64_t experts, top_k, expert_inter, dense_inter, shared, dense_layers, extra_layers;
  AttentionOptions attention;
  moe::RoutingSpec routing;

 private:
  // Other decoders turn the whole head where nothing is said, transformers this one's half.
  static bool says_what_turns(const ConfigReader& reader) {
    const Json* rope = reader.find({"rope_parameters"});
    return reader.find({"partial_rotary_factor"}) != nullptr || (rope != nullptr && rope->contains("partial_rotary_factor"));
  }
};

std::unique_ptr<Block> feed_forward(const ModelConfig& c, const Keys& keys, Loader& loader, std::int32_t layer,
                                    const std::string& at) {
  if (layer < keys.dense_layers) return gated_mlp(loader, at, c.hidden, keys.dense_inter);
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.expert_inter);
  problem.routing = keys.routing;
  auto block = moe_block(loader, at, problem);
  loader.parameter(block->parts().selection_bias, at + "gate.e_score_correction_bias", keys.experts);
  block->parts().shared = gated_mlp(loader, at + "shared_experts.", c.hidden, keys.shared * keys.expert_inter);
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t, const std::string& at) { return attention_block(c, loader, at + "self_attn.", keys.attention); },
        [&](std::int32_t layer, const std::string& at) { return feed_forward(c, keys, loader, layer, at + "mlp."); });
    ignore_prediction_layers(c, loader, keys.extra_layers);
  });
}

}  // namespace

extern const Architecture glm4_moe_architecture;
constexpr std::string_view kNames[] = {"Glm4MoeForCausalLM"};
const Architecture glm4_moe_architecture{kNames, load};

}  // namespace conclave
