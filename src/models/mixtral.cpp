// Mixtral (8x7B, 8x22B): attention without extras, then experts chosen by softmax and renormalised.
// Keys: transformers' MixtralConfig; w1 is the gate, w3 the up and w2 the down projection.
#include "models/blocks.h"
#include "models/causal_lm.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(ConfigReader(*c.json)) {}
  explicit Keys(ConfigReader reader)
      : experts(reader.integer({"num_local_experts"}, 1, 4096)),
        top_k(reader.integer({"num_experts_per_tok"}, 1, experts, 2)),
        inter(reader.integer({"intermediate_size"}, 1, 1 << 24)),
        window(static_cast<std::int32_t>(reader.integer({"sliding_window"}, 1, 1 << 30, 0))) {
    reader.only("hidden_act", {"silu"});
    reader.throw_problems();
  }
  std::int64_t experts, top_k, inter;
  std::int32_t window;
};

std::unique_ptr<Block> experts(const ModelConfig& c, const Keys& keys, Loader& loader, const std::string& at) {
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.inter);
  problem.routing.renorm = moe::Renorm::sum;
  return moe_block(loader, at, problem, {.experts = kW1W3W2});
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t, const std::string& at) { return attention_block(c, loader, at + "self_attn.", {.window = keys.window}); },
        [&](std::int32_t, const std::string& at) { return experts(c, keys, loader, at + "block_sparse_moe."); });
  });
}

}  // namespace

extern const Architecture mixtral_architecture;
constexpr std::string_view kNames[] = {"MixtralForCausalLM"};
const Architecture mixtral_architecture{kNames, load};

}  // namespace conclave
