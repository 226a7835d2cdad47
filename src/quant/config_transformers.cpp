// The methods that transformers itself defines: block FP8 as DeepSeek, Qwen and MiniMax publish it, and gpt-oss' MXFP4.
#include <fmt/format.h>

#include "io/json.h"
#include "quant/config_readers.h"

namespace conclave {
namespace {

constexpr std::int64_t kLargestBlock = 4096;

// weight_block_size: [rows, cols]; absent: one scale for each matrix.
QuantScheme read_block_size(ConfigFields& fields) {
  const Json* size = fields.find("weight_block_size");
  if (size == nullptr) return kFp8Tensor;
  QuantScheme scheme = kFp8Block128;
  const auto extent = [&](std::size_t i) -> std::int16_t {
    const Json& value = (*size)[i];
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 && value.get<std::uint64_t>() <= kLargestBlock;
    return fits ? value.get<std::int16_t>() : std::int16_t{0};
  };
  if (size->is_array() && size->size() == 2 && extent(0) != 0 && extent(1) != 0) {
    scheme.scale_rows = extent(0);
    scheme.scale_cols = extent(1);
  } else {
    fields.problem("weight_block_size", fmt::format("expected two integers from 1 to {}", kLargestBlock));
  }
  return scheme;
}

}  // namespace

void read_fp8(ConfigFields& fields, QuantRules& rules) {
  rules.method = "fp8";
  QuantRule rule;
  rule.every_linear = true;
  rule.scheme.weights = read_block_size(fields);
  const bool blocks = rule.scheme.weights.scale_cols != 0;
  fields.only("fmt", {"e4m3", "float8_e4m3fn", "float8_e4m3"});
  fields.only("scale_fmt", {"ue8m0", "float"});
  if (fields.text("scale_fmt") == "ue8m0") rule.scheme.weights.scale = DType::f8e8m0;
  const std::string activations = fields.text("activation_scheme", "dynamic");
  if (activations == "dynamic") {
    rule.scheme.activations = kFp8TokenDynamic;
    rule.scheme.activations.scale_cols = rule.scheme.weights.scale_cols;
    rule.scheme.activations.scale = rule.scheme.weights.scale;
  } else if (activations == "static" && !blocks) {
    rule.scheme.activations = kFp8TensorStatic;
  } else {
    fields.problem("activation_scheme",
                   blocks ? "with a weight_block_size it must be \"dynamic\"" : "supported: \"dynamic\", \"static\"");
  }
  read_exclusions(fields, "modules_to_not_convert", rules);
  read_exclusions(fields, "ignored_layers", rules);
  // This method is about the linears of the decoder; none of its checkpoints has a quantised head, and few lists say so.
  rules.excluded.add("lm_head");
  fields.only("store_dtype", {}, "weights in another type than fmt are not supported");
  rules.fp8_kv = read_kv_cache_scheme(fields);
  fields.ignore({"quant_method"});
  fields.refuse_the_rest();
  rules.rules.push_back(std::move(rule));
}

void read_mxfp4(ConfigFields& fields, QuantRules& rules) {
  rules.method = "mxfp4";
  QuantRule rule;
  rule.scheme = {kMxfp4, kF32};
  rule.modules.add("experts");  // whatever the list of exclusions says: nothing else is in this format
  read_exclusions(fields, "modules_to_not_convert", rules);
  fields.ignore({"quant_method"});
  fields.refuse_the_rest();
  rules.rules.push_back(std::move(rule));
}

}  // namespace conclave
