#include "models/dense_decoder.h"

namespace conclave {

std::unique_ptr<Model> load_dense_decoder(ConfigReader& reader, const ModelConfig& c, const Checkpoint& checkpoint,
                                          const QuantConfig& quant, LoadContext& context, const AttentionOfLayer& attention) {
  const std::int64_t inter = reader.integer({"intermediate_size"}, 1, 1 << 24);
  reader.only("hidden_act", {"silu"});
  reader.only("mlp_bias", {false});
  reader.throw_problems();
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t layer, const std::string& at) { return attention_block(c, loader, at + "self_attn.", attention(layer)); },
        [&](std::int32_t, const std::string& at) { return gated_mlp(loader, at + "mlp.", c.hidden, inter); });
  });
}

}  // namespace conclave
