// compressed-tensors: groups of modules, each with arguments for its weights and its input, and a format that says how they are
// stored.
#include <fmt/format.h>

#include <optional>

#include "io/json.h"
#include "quant/config_readers.h"

namespace conclave {
namespace {

constexpr std::string_view kFormats =
    "\"pack-quantized\", \"nvfp4-pack-quantized\", \"mxfp4-pack-quantized\", \"float-quantized\", "
    "\"naive-quantized\"";

// Arguments of weights or of activations.
struct Arguments {
  std::int64_t bits, group;
  std::string type, strategy;
  bool symmetric;
  bool dynamic, local;  // "local": the block scales are computed, the global one is read
  std::int16_t block_rows = 0, block_cols = 0;
};

// block_structure: [128, 128] or "128x128".
void read_block(ConfigFields& fields, Arguments& a) {
  const Json* value = fields.find("block_structure");
  if (value == nullptr) return;
  if (*value == Json("128x128") || *value == Json({128, 128})) {
    a.block_rows = a.block_cols = 128;
  } else {
    fields.problem("block_structure", "supported: [128, 128]");
  }
}

Arguments read_arguments(ConfigFields& fields) {
  Arguments a{};
  a.bits = fields.integer("num_bits", 1, 16, 8);
  a.type = fields.text("type", "int");
  a.group = fields.integer("group_size", -1, 32767, 0);
  if (a.group == -1) a.group = 0;
  a.strategy = fields.text("strategy", a.group > 0 ? "group" : "tensor");
  a.symmetric = fields.boolean("symmetric", true);
  const Json* dynamic = fields.find("dynamic");
  a.local = dynamic != nullptr && *dynamic == Json("local");
  a.dynamic = !a.local && fields.boolean("dynamic", false);
  fields.only("actorder", {false, "weight", "static"}, "columns in another order (actorder \"group\") are not supported");
  read_block(fields, a);
  fields.ignore({"observer", "observer_kwargs", "scale_dtype", "zp_dtype"});
  fields.refuse_the_rest();
  return a;
}

std::string words(const Arguments& a) {
  return fmt::format("{}-bit {}, strategy {}, group {}, {}, {}", a.bits, a.type, a.strategy, a.group,
                     a.symmetric ? "symmetric" : "asymmetric",
                     a.local     ? "dynamic local"
                     : a.dynamic ? "dynamic"
                                 : "static");
}

std::optional<QuantScheme> weight_scheme(const std::string& format, const Arguments& a) {
  const bool grouped = a.strategy == "group" || a.strategy == "tensor_group";
  if (a.dynamic || a.local) return std::nullopt;
  if (format == "pack-quantized" && a.type == "int" && a.bits == 4 && (a.strategy == "channel" || (grouped && a.group > 0))) {
    QuantScheme scheme = kInt4Group128;
    scheme.scale_cols = a.strategy == "channel" ? std::int16_t{0} : static_cast<std::int16_t>(a.group);
    scheme.zero_point = !a.symmetric;
    return scheme;
  }
  if (!a.symmetric || a.type != "float") return std::nullopt;
  if (format == "nvfp4-pack-quantized" && a.bits == 4 && grouped && a.group == 16) return kNvfp4;
  if (format == "mxfp4-pack-quantized" && a.bits == 4 && grouped && a.group == 32) return kMxfp4;
  if ((format == "float-quantized" || format == "naive-quantized") && a.bits == 8) {
    if (a.strategy == "tensor") return kFp8Tensor;
    if (a.strategy == "channel") return kFp8Channel;
    if (a.strategy == "block" && a.block_rows == 128) return kFp8Block128;
  }
  return std::nullopt;
}

// One dynamic scale for all tokens of a batch is read as one for each token: finer, and no token depends on its neighbours.
std::optional<QuantScheme> activation_scheme(const QuantScheme& weights, const Arguments& a) {
  const bool grouped = a.strategy == "group" || a.strategy == "tensor_group";
  if (!a.symmetric || a.type != "float") return std::nullopt;
  if (weights.code == Code::f8e4m3 && a.bits == 8) {
    if (a.dynamic && (a.strategy == "token" || a.strategy == "tensor")) return kFp8TokenDynamic;
    if (a.dynamic && a.strategy == "group" && a.group == 128) return kFp8Token128;
    if (!a.dynamic && !a.local && a.strategy == "tensor") return kFp8TensorStatic;
  }
  if (weights == kNvfp4 && a.bits == 4 && grouped && a.group == 16 && !a.dynamic) return kNvfp4Activation;
  if (weights == kMxfp4 && a.bits == 4 && grouped && a.group == 32 && a.dynamic) {
    QuantScheme scheme = kMxfp4;
    scheme.dynamic = true;
    return scheme;
  }
  return std::nullopt;
}

void read_group(ConfigFields& group, const std::string& outer_format, QuantRules& rules) {
  QuantRule rule;
  read_targets(group, rule);
  std::string format = group.text("format", outer_format);
  if (const Json* weights = group.find("weights")) {
    ConfigFields fields(*weights, group.path() + ".weights", group.problems());
    const Arguments a = read_arguments(fields);
    if (const auto scheme = weight_scheme(format, a)) {
      rule.scheme.weights = *scheme;
    } else {
      group.problem("weights",
                    fmt::format("{} in format \"{}\" is not supported (formats: {}; 4-bit integers by group or channel, FP8 by "
                                "tensor, channel or block, NVFP4, MXFP4)",
                                words(a), format, kFormats));
    }
  } else {
    group.problem("weights", "a group that leaves its weights alone is not supported");
  }
  if (const Json* input = group.find("input_activations")) {
    ConfigFields fields(*input, group.path() + ".input_activations", group.problems());
    const Arguments a = read_arguments(fields);
    if (const auto scheme = activation_scheme(rule.scheme.weights, a)) {
      rule.scheme.activations = *scheme;
    } else {
      group.problem("input_activations",
                    fmt::format("{} is not supported with {} weights", words(a), to_string(rule.scheme.weights)));
    }
  }
  group.only("output_activations", {}, "outputs are not quantised here");
  group.refuse_the_rest();
  rules.rules.push_back(std::move(rule));
}

}  // namespace

void read_compressed_tensors(ConfigFields& fields, QuantRules& rules) {
  const std::string format = fields.text("format");
  rules.method = "compressed-tensors " + format;
  const Json* groups = fields.find("config_groups");
  if (groups == nullptr || !groups->is_object()) {
    fields.problem("config_groups", "expected an object of groups");
  } else {
    for (const auto& [name, value] : groups->items()) {
      ConfigFields group(value, fmt::format("{}.config_groups.{}", fields.path(), name), fields.problems());
      read_group(group, format, rules);
    }
  }
  read_exclusions(fields, "ignore", rules);
  rules.fp8_kv = read_kv_cache_scheme(fields);
  fields.only("quantization_status", {"compressed", "frozen"});
  if (const Json* sparsity = fields.find("sparsity_config"); sparsity != nullptr && !sparsity->empty()) {
    ConfigFields sparse(*sparsity, fields.path() + ".sparsity_config", fields.problems());
    sparse.only("format", {"dense"}, "sparse weights are not supported");
    sparse.ignore({"registry_requires_subclass", "sparsity_structure", "global_sparsity", "targets", "ignore"});
    sparse.refuse_the_rest();
  }
  fields.ignore({"quant_method", "version", "global_compression_ratio"});
  fields.refuse_the_rest();
}

}  // namespace conclave
