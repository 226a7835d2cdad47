// ModelOpt: quant_algo names the format of all linears; MIXED_PRECISION lists them one by one.
#include <fmt/format.h>

#include <algorithm>

#include "io/json.h"
#include "quant/config_readers.h"

namespace conclave {
namespace {

constexpr QuantScheme kMxfp8{Code::f8e4m3, 1, 32, DType::f8e8m0, true};
constexpr QuantScheme kMxfp8Dynamic{Code::f8e4m3, 1, 32, DType::f8e8m0, true, false, false, true};

struct Algorithm {
  std::string_view name;
  LinearScheme scheme;
  int group_size;  // 0: has none
  int bits;
};
constexpr Algorithm kAlgorithms[] = {
    {"FP8", {kFp8Tensor, kFp8TensorStatic}, 0, 8}, {"FP8_PER_CHANNEL_PER_TOKEN", {kFp8Channel, kFp8TokenDynamic}, 0, 8},
    {"FP8_PB_WO", {kFp8Block128, kF32}, 0, 8},     {"NVFP4", {kNvfp4, kNvfp4Activation}, 16, 4},
    {"W4A16_NVFP4", {kNvfp4, kF32}, 16, 4},        {"MXFP8", {kMxfp8, kMxfp8Dynamic}, 32, 8},
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

// The algorithm under `quant_algo`, its group size checked; null, with a problem, when we do not have it.
const Algorithm* read_algorithm(ConfigFields& fields) {
  const std::string name = upper(fields.text("quant_algo"));
  if (name.empty()) {
    fields.problem("quant_algo",
                   "expected the name of a format, found none; modules that are not quantised are left out of the map");
    return nullptr;
  }
  const auto* it = std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms), [&](const Algorithm& a) { return a.name == name; });
  if (it == std::end(kAlgorithms)) {
    std::string known;
    for (const Algorithm& a : kAlgorithms) known += fmt::format("{}{}", known.empty() ? "" : ", ", a.name);
    fields.problem("quant_algo", fmt::format("supported: {}, MIXED_PRECISION", known));
    return nullptr;
  }
  if (it->group_size != 0) fields.only("group_size", {it->group_size});
  fields.ignore({"group_size"});
  fields.only("has_zero_point", {false});
  fields.only("pre_quant_scale", {false});
  return it;
}

// quantized_layers: {"model.layers.0.mlp.experts.0.up_proj": {"quant_algo": "NVFP4", "group_size": 16}, ...}
void read_layers(ConfigFields& fields, QuantRules& rules) {
  const Json* layers = fields.find("quantized_layers");
  if (layers == nullptr || !layers->is_object())
    return fields.problem("quantized_layers", "MIXED_PRECISION needs the map from modules to algorithms");
  for (const auto& [module, value] : layers->items()) {
    ConfigFields layer(value, fmt::format("{}.quantized_layers.{}", fields.path(), module), fields.problems());
    const Algorithm* algorithm = read_algorithm(layer);
    layer.refuse_the_rest();
    if (algorithm == nullptr) continue;
    auto rule =
        std::find_if(rules.rules.begin(), rules.rules.end(), [&](const QuantRule& r) { return r.scheme == algorithm->scheme; });
    if (rule == rules.rules.end()) {
      rules.rules.emplace_back().scheme = algorithm->scheme;
      rule = rules.rules.end() - 1;
    }
    if (const std::string bad = rule->modules.add(module); !bad.empty()) fields.problem("quantized_layers", bad);
  }
}

// config_groups repeat the algorithm in other words; what contradicts it is a problem.
void read_groups(ConfigFields& fields, const Algorithm& algorithm, QuantRule& rule) {
  const Json* groups = fields.find("config_groups");
  rule.every_linear = groups == nullptr;
  if (groups == nullptr) return;
  if (!groups->is_object()) return fields.problem("config_groups", "expected an object");
  for (const auto& [name, value] : groups->items()) {
    ConfigFields group(value, fmt::format("{}.config_groups.{}", fields.path(), name), fields.problems());
    group.ignore({"input_activations"});
    if (group.find("targets") == nullptr) rule.every_linear = true;
    read_targets(group, rule);
    if (const Json* weights = group.find("weights")) {
      ConfigFields args(*weights, group.path() + ".weights", fields.problems());
      const std::string why = fmt::format("contradicts quant_algo {}", algorithm.name);
      args.only("num_bits", {algorithm.bits}, why);
      args.only("type", {"float"}, why);
      args.only("dynamic", {false});
      if (algorithm.group_size != 0) args.only("group_size", {algorithm.group_size}, why);
      args.ignore({"group_size", "strategy"});
      args.refuse_the_rest();
    }
    group.refuse_the_rest();
  }
}

void read_kv_algorithm(ConfigFields& fields, QuantRules& rules) {
  const std::string algorithm = upper(fields.text("kv_cache_quant_algo"));
  if (algorithm == "FP8") rules.fp8_kv = true;
  if (algorithm != "FP8" && !algorithm.empty() && algorithm != "NONE")
    fields.problem("kv_cache_quant_algo", "supported: null, \"FP8\"");
}

}  // namespace

void read_modelopt(ConfigFields& fields, QuantRules& rules) {
  const std::string name = upper(fields.text("quant_algo"));
  rules.method = "ModelOpt " + (name.empty() ? "without weight quantisation" : name);
  fields.ignore({"producer", "quant_method"});
  read_exclusions(fields, "ignore", rules);
  read_exclusions(fields, "exclude_modules", rules);
  read_kv_algorithm(fields, rules);
  rules.fp8_kv = read_kv_cache_scheme(fields) || rules.fp8_kv;
  if (name == "MIXED_PRECISION") {
    fields.ignore({"config_groups", "group_size"});
    read_layers(fields, rules);
  } else if (!name.empty()) {
    if (const Algorithm* algorithm = read_algorithm(fields)) {
      QuantRule rule;
      rule.scheme = algorithm->scheme;
      read_groups(fields, *algorithm, rule);
      rules.rules.push_back(std::move(rule));
    }
    fields.ignore({"config_groups"});
  }
  fields.refuse_the_rest();
}

void read_modelopt_sidecar(const Json& sidecar, QuantRules& rules, std::vector<std::string>& problems) {
  ConfigFields file(sidecar, "hf_quant_config.json", problems);
  file.ignore({"producer"});
  if (const Json* quantization = file.find("quantization")) {
    ConfigFields fields(*quantization, "hf_quant_config.json: quantization", problems);
    read_modelopt(fields, rules);
  } else {
    file.problem("quantization", "expected the object that names quant_algo");
  }
  file.refuse_the_rest();
}

}  // namespace conclave
