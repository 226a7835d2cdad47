// Llama 3 and its dense relatives: attention, then a gated MLP. Keys: transformers' LlamaConfig.
#include "models/dense_decoder.h"

namespace conclave {
namespace {

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  ConfigReader reader(*c.json);
  reader.only("attention_bias", {false});
  return load_dense_decoder(reader, c, checkpoint, quant, context, [](std::int32_t) { return AttentionOptions{}; });
}

}  // namespace

extern const Architecture llama_architecture;
constexpr std::string_view kNames[] = {"LlamaForCausalLM"};
const Architecture llama_architecture{kNames, load};

}  // namespace conclave
