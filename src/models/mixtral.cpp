// Mixtral (8x7B, 8x22B): attention without extras, then experts chosen by softmax and renormalised.
// Keys: transformers' MixtralConfig; w1 is the gate, w3 the up and w2 the down projection.
#include <fmt/format.h>

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
  auto block = std::make_unique<MoeLayer>();
  loader.plain_linear(block->parts().router, at + "gate", keys.experts, c.hidden);
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.inter);
  problem.routing.renorm = moe::Renorm::sum;
  loader.experts(block->parts().experts, at + "experts", problem, expert_modules(at, kW1W3W2));
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    for (std::int32_t layer = 0; layer < c.layers; ++layer) {
      const std::string at = fmt::format("model.layers.{}.", layer);
      add_block(loader, blocks, at + "input_layernorm.weight", c.hidden,
                attention_block(c, loader, at + "self_attn.", {.window = keys.window}));
      add_block(loader, blocks, at + "post_attention_layernorm.weight", c.hidden,
                experts(c, keys, loader, at + "block_sparse_moe."));
    }
  });
}

}  // namespace

extern const Architecture mixtral_architecture;
constexpr std::string_view kNames[] = {"MixtralForCausalLM"};
const Architecture mixtral_architecture{kNames, load};

}  // namespace conclave
