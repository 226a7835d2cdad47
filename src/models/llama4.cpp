// Llama-4 (Scout, Maverick), the text model: chunked attention with rotary positions on most layers, full attention without
// positions on the others; experts chosen one per token, weighted on their input, beside a shared expert. Keys: transformers'
// Llama4TextConfig.
#include <fmt/format.h>

#include "models/blocks.h"
#include "models/causal_lm.h"
#include "quant/stacked_experts.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader)
      : experts(reader.integer({"num_local_experts"}, 1, 4096)),
        inter(reader.integer({"intermediate_size"}, 1, 1 << 24)),
        dense_inter(reader.integer({"intermediate_size_mlp"}, 1, 1 << 24, 1)),
        moe_step(reader.integer({"interleave_moe_layer_step"}, 0, 4096, 1)),
        nope_interval(reader.integer({"no_rope_layer_interval"}, 1, 4096, 4)),
        uses_rope(
            reader.integers({"no_rope_layers"}, 0, 1)),  // 1: the layer has rotary positions, whatever the key's name suggests
        chunk(static_cast<std::int32_t>(reader.integer({"attention_chunk_size"}, 1, 1 << 30, 8192))),
        qk_norm(reader.boolean({"use_qk_norm"}, true)) {
    reader.only("hidden_act", {"silu"});
    reader.only("attention_bias", {false});
    reader.only("num_experts_per_tok", {std::int64_t{1}});
    if (reader.boolean({"attn_temperature_tuning"}, true)) {
      temperature.scale = static_cast<float>(reader.number({"attn_scale"}, 0.0, 100.0, 0.1));
      temperature.floor_scale = static_cast<float>(reader.number({"floor_scale"}, 1.0, 1e9, 8192.0));
    }
    if (!uses_rope.empty() && uses_rope.size() != static_cast<std::size_t>(c.layers))
      reader.problem(fmt::format("no_rope_layers: expected {} entries or none, found {}", c.layers, uses_rope.size()));
    reader.throw_problems();
  }
  std::int64_t experts, inter, dense_inter, moe_step, nope_interval;
  std::vector<std::int64_t> uses_rope;
  std::int32_t chunk;
  bool qk_norm;
  QueryTemperature temperature;

  bool sparse(std::int32_t layer) const { return moe_step > 0 && (layer + 1) % moe_step == 0; }
  AttentionOptions attention(std::int32_t layer) const {
    const bool rope = uses_rope.empty() ? (layer + 1) % nope_interval != 0 : uses_rope[static_cast<std::size_t>(layer)] == 1;
    if (!rope) return {.rope = false, .temperature = temperature};
    return {.qk_norm = qk_norm ? QkNorm::after_rope : QkNorm::none, .rope_interleaved = true, .chunk = chunk};
  }
};

// Stacked experts are [E, in, out] in transformers' layout and ModelOpt's, [E, out, in] in others': the extents tell, and where
// they are equal it is transformers'.
bool transposed(const Keys& keys, const ConstTensorView& gate_up) {
  return gate_up.shape.rank() != 3 || gate_up.shape[1] != 2 * keys.inter || gate_up.shape[2] == 2 * keys.inter;
}

std::unique_ptr<Block> feed_forward(const ModelConfig& c, const Keys& keys, Loader& loader, std::int32_t layer,
                                    const std::string& at) {
  if (!keys.sparse(layer)) return gated_mlp(loader, at, c.hidden, keys.dense_inter);
  moe::MoeProblem problem = expert_problem(keys.experts, 1, c.hidden, keys.inter);
  problem.routing.score = moe::Score::sigmoid;
  problem.routing.select_by_logit = true;
  problem.routing.weight_on_input = true;
  const MoeNames names{.router = "router"};
  const auto stacked = loader.source().find(at + "experts.gate_up_proj");
  auto block = stacked
                   ? moe_block(loader, at, problem, names,
                               StackedExperts(loader.source(), {.experts = keys.experts, .transposed = transposed(keys, *stacked)}))
                   : moe_block(loader, at, problem, names);
  block->parts().shared = gated_mlp(loader, at + "shared_expert.", c.hidden, keys.inter);
  return block;
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  // Checkpoints of the multimodal model keep the text model under a name of its own.
  const std::string root = checkpoint.info("language_model.model.norm.weight") ? "language_model." : "";
  return load_causal_lm(
      c, checkpoint, quant, context,
      [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
        add_layers(
            c, loader, blocks, root + "model.",
            [&](std::int32_t layer, const std::string& at) {
              return attention_block(c, loader, at + "self_attn.", keys.attention(layer));
            },
            [&](std::int32_t layer, const std::string& at) { return feed_forward(c, keys, loader, layer, at + "feed_forward."); });
        loader.ignore_prefix("vision_model.", "images are not an input of this engine");
        loader.ignore_prefix("multi_modal_projector.", "images are not an input of this engine");
      },
      {root + "model.embed_tokens", root + "model.norm.weight", root + "lm_head"});
}

}  // namespace

extern const Architecture llama4_architecture;
constexpr std::string_view kNames[] = {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"};
const Architecture llama4_architecture{kNames, load};

}  // namespace conclave
