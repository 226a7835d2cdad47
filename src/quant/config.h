#pragma once
// What a model's configuration says about quantisation: which module is in which format. Every announcement that docs/formats.md
// lists is read; whatever else might change the meaning of the weights is refused by key and value.
#include <string>
#include <string_view>
#include <vector>

#include "io/json_fwd.h"
#include "quant/rules.h"

namespace conclave {

class QuantConfig {
 public:
  // `config`: config.json as a whole. `hf_quant_config`: hf_quant_config.json, or null where there is none; alone it is enough
  // (old ModelOpt exports). Throws Error{unsupported} listing every problem.
  static QuantConfig parse(const Json& config, const Json* hf_quant_config);

  // The format of the linear at this published path (without ".weight"). Modules that are not quantised have the type that the
  // model's configuration names and activations kF32. Routers, embeddings and vision towers never are, whatever the lists say.
  // Throws Error{bad_input} when a regular expression of the configuration takes too long.
  LinearScheme scheme_of(std::string_view module) const;

  // The type of what is not quantised.
  const QuantScheme& plain() const { return plain_; }
  bool quantized() const { return !rules_.rules.empty(); }
  // The checkpoint is meant to be run with a KV cache of E4M3.
  bool announces_fp8_kv() const { return rules_.fp8_kv; }
  // Decisions worth a line for people.
  const std::vector<std::string>& notes() const { return notes_; }
  // "ModelOpt NVFP4: nvfp4 weights with nvfp4 inputs for all linears; 4 exclusions (lm_head, ...); FP8 KV cache"
  std::string describe() const;

 private:
  QuantScheme plain_ = kBf16;
  QuantRules rules_;
  std::vector<std::string> notes_;
};

}  // namespace conclave
