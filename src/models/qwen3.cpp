// Qwen3, dense (0.6B to 32B): attention with per-head QK norm, and biases where the configuration has them. Keys: transformers'
// Qwen3Config.
#include "models/dense_decoder.h"

namespace conclave {
namespace {

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  ConfigReader reader(*c.json);
  const Bias bias = reader.boolean({"attention_bias"}, false) ? Bias::required : Bias::none;
  const LayerWindows windows(reader, c.layers);
  return load_dense_decoder(reader, c, checkpoint, quant, context, [&](std::int32_t layer) {
    return AttentionOptions{.qk_norm = QkNorm::per_head, .qkv_bias = bias, .o_bias = bias, .window = windows(layer)};
  });
}

}  // namespace

extern const Architecture qwen3_architecture;
constexpr std::string_view kNames[] = {"Qwen3ForCausalLM"};
const Architecture qwen3_architecture{kNames, load};

}  // namespace conclave
