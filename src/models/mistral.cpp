// Mistral 7B and its dense successors: Llama's decoder with a window over all layers. Keys: transformers' MistralConfig.
#include "models/dense_decoder.h"

namespace conclave {
namespace {

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  ConfigReader reader(*c.json);
  const std::int32_t window = read_window(reader);
  if (reader.find({"layer_types"}) != nullptr) reader.problem("layer_types: windows by layer are not known of this architecture");
  return load_dense_decoder(reader, c, checkpoint, quant, context,
                            [window](std::int32_t) { return AttentionOptions{.window = window}; });
}

}  // namespace

extern const Architecture mistral_architecture;
constexpr std::string_view kNames[] = {"MistralForCausalLM"};
const Architecture mistral_architecture{kNames, load};

}  // namespace conclave
