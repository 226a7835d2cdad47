// Any bytes as config.json: a configuration or an Error, never a crash, a hang or a huge allocation. The key "hf_quant_config",
// when there, is read as the sidecar file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "conclave/error.h"
#include "io/json.h"
#include "quant/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const conclave::Json config = conclave::parse_json(text, "config.json", {std::size_t{1} << 16, 32, true});
    const bool has_sidecar = config.is_object() && config.contains("hf_quant_config");
    const auto quant = conclave::QuantConfig::parse(config, has_sidecar ? &config["hf_quant_config"] : nullptr);
    for (const char* module :
         {"lm_head", "model.layers.0.self_attn.q_proj", "language_model.model.layers.11.mlp.experts.3.up_proj", ""})
      static_cast<void>(quant.scheme_of(module));
    static_cast<void>(quant.describe());
  } catch (const conclave::Error&) {
  }
  return 0;
}
