// Qwen2 and Qwen2.5, dense: attention with biases on q, k and v. Keys: transformers' Qwen2Config.
#include "models/dense_decoder.h"

namespace conclave {
namespace {

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  ConfigReader reader(*c.json);
  const LayerWindows windows(reader, c.layers);
  return load_dense_decoder(reader, c, checkpoint, quant, context, [&](std::int32_t layer) {
    return AttentionOptions{.qkv_bias = Bias::required, .window = windows(layer)};
  });
}

}  // namespace

extern const Architecture qwen2_architecture;
constexpr std::string_view kNames[] = {"Qwen2ForCausalLM"};
const Architecture qwen2_architecture{kNames, load};

}  // namespace conclave
