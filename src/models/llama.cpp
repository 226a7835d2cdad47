// Llama 3 and its dense relatives: attention, then a gated MLP. Keys: transformers' LlamaConfig.
#include "models/blocks.h"
#include "models/causal_lm.h"

namespace conclave {
namespace {

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  ConfigReader reader(*c.json);
  const std::int64_t inter = reader.integer({"intermediate_size"}, 1, 1 << 24);
  reader.only("hidden_act", {"silu"});
  reader.only("attention_bias", {false});
  reader.only("mlp_bias", {false});
  reader.throw_problems();
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t, const std::string& at) { return attention_block(c, loader, at + "self_attn.", {}); },
        [&](std::int32_t, const std::string& at) { return gated_mlp(loader, at + "mlp.", c.hidden, inter); });
  });
}

}  // namespace

extern const Architecture llama_architecture;
constexpr std::string_view kNames[] = {"LlamaForCausalLM"};
const Architecture llama_architecture{kNames, load};

}  // namespace conclave
