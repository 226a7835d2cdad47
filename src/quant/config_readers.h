#pragma once
// One reader for each way to announce quantisation. Each fills `rules` and adds what it cannot accept to the fields' problems.
#include "quant/config_fields.h"
#include "quant/rules.h"

namespace conclave {

// ModelOpt, in config.json's form; read_modelopt_sidecar() takes hf_quant_config.json as a whole.
void read_modelopt(ConfigFields&, QuantRules& rules);
void read_modelopt_sidecar(const Json& sidecar, QuantRules& rules, std::vector<std::string>& problems);
// transformers' own: quant_method "fp8" (DeepSeek, Qwen, MiniMax) and "mxfp4" (gpt-oss).
void read_fp8(ConfigFields&, QuantRules& rules);
void read_mxfp4(ConfigFields&, QuantRules& rules);
void read_compressed_tensors(ConfigFields&, QuantRules& rules);

// What they share: a list of exclusions; a list of targets, where "Linear" is every linear; a kv_cache_scheme (whether it is FP8).
void read_exclusions(ConfigFields&, std::string_view key, QuantRules& rules);
void read_targets(ConfigFields&, QuantRule& rule);
bool read_kv_cache_scheme(ConfigFields&);

}  // namespace conclave
