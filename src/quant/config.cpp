#include "quant/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/problems.h"
#include "io/json.h"
#include "quant/config_readers.h"

namespace conclave {
namespace {

// The quantisation object at the top of config.json or beside the text model's keys; null where there is none.
const Json* find_announcement(const Json& config, std::vector<std::string>& problems) {
  const Json* found = nullptr;
  const auto look = [&](const Json& object, const std::string& where) {
    for (const char* key : {"quantization_config", "compression_config"}) {
      const auto it = object.find(key);
      if (it == object.end() || it->is_null()) continue;
      if (found != nullptr && *found != *it)
        problems.push_back(fmt::format("{}{} differs from another announcement in the same config.json", where, key));
      found = &*it;
    }
  };
  if (!config.is_object()) return nullptr;
  const auto text = config.find("text_config");
  if (text != config.end() && text->is_object()) look(*text, "text_config.");
  look(config, "");
  return found;
}

void read_announcement(const Json& json, QuantRules& rules, std::vector<std::string>& problems) {
  ConfigFields fields(json, "quantization_config", problems);
  const std::string method = fields.text("quant_method", json.contains("quant_algo") ? "modelopt" : "");
  if (method == "modelopt" || method == "modelopt_fp4") return read_modelopt(fields, rules);
  if (method == "fp8") return read_fp8(fields, rules);
  if (method == "mxfp4") return read_mxfp4(fields, rules);
  if (method == "compressed-tensors" || method == "compressed_tensors") return read_compressed_tensors(fields, rules);
  fields.problem("quant_method", "supported: \"modelopt\", \"fp8\", \"mxfp4\", \"compressed-tensors\"");
}

QuantScheme plain_scheme(const Json& config, std::vector<std::string>& problems) {
  const Json* dtype = nullptr;
  std::string name;  // as the file has it
  const auto look = [&](const Json& object, std::string_view where) {
    for (const char* key : {"dtype", "torch_dtype"})
      if (const auto it = object.find(key); dtype == nullptr && it != object.end() && !it->is_null()) {
        dtype = &*it;
        name = fmt::format("{}{}", where, key);
      }
  };
  if (config.is_object()) look(config, "");
  const auto text = config.is_object() ? config.find("text_config") : config.end();
  if (config.is_object() && text != config.end() && text->is_object()) look(*text, "text_config.");
  if (dtype == nullptr || *dtype == Json("bfloat16") || *dtype == Json("auto")) return kBf16;
  if (*dtype == Json("float16")) return kF16;
  if (*dtype == Json("float32")) return kF32;
  problems.push_back(fmt::format("{} = {}: supported: \"bfloat16\", \"float16\", \"float32\"", name, short_json(*dtype)));
  return kBf16;
}

// What every module would be compared with, whichever lists it stands in.
void refuse_too_many(const QuantRules& rules, std::vector<std::string>& problems) {
  constexpr std::size_t kMostRules = 256;
  std::size_t regexes = rules.excluded.regexes(), globs = rules.excluded.globs();
  for (const QuantRule& rule : rules.rules) {
    regexes += rule.modules.regexes();
    globs += rule.modules.globs();
  }
  for (const auto& [count, most, what] : {std::tuple(regexes, ModulePatterns::kMostRegexes, "regular expressions (re:)"),
                                          std::tuple(globs, ModulePatterns::kMostGlobs, "patterns with wildcards"),
                                          std::tuple(rules.rules.size(), kMostRules, "groups")})
    if (count > most)
      problems.push_back(
          fmt::format("found {} {} for modules, and at most {} are compared with each; names are not limited", count, what, most));
}

std::vector<LinearScheme> schemes_of(const QuantRules& rules) {
  std::vector<LinearScheme> out;
  for (const QuantRule& r : rules.rules) out.push_back(r.scheme);
  return out;
}

std::vector<std::string> sorted_exclusions(const QuantRules& rules) {
  std::vector<std::string> out = rules.excluded.entries();
  std::sort(out.begin(), out.end());
  return out;
}

// Both files announce something: they must agree on the formats; on the rest config.json counts, and the difference is told.
void reconcile(QuantRules& rules, const QuantRules& sidecar, std::vector<std::string>& problems, std::vector<std::string>& notes) {
  if (schemes_of(rules) != schemes_of(sidecar)) {
    problems.push_back(fmt::format("config.json announces {} and hf_quant_config.json {}: delete the one that is wrong",
                                   rules.method, sidecar.method));
  }
  if (rules.fp8_kv != sidecar.fp8_kv) {
    notes.push_back("only one of config.json and hf_quant_config.json announces an FP8 KV cache; it is taken as announced");
    rules.fp8_kv = true;
  }
  if (sorted_exclusions(rules) != sorted_exclusions(sidecar))
    notes.push_back("config.json and hf_quant_config.json exclude different modules from quantisation; config.json counts");
}

// Routers, embeddings and vision towers: no publisher quantises them, and lists forget them.
bool never_quantized(std::string_view module) {
  static const ModulePatterns kParts = [] {
    ModulePatterns p;
    for (const char* name : {"vision_tower", "vision_model", "vit_large_projector"}) p.add(name);
    return p;
  }();
  const std::string_view last = module.substr(module.rfind('.') + 1);
  for (std::string_view name : {"gate", "router", "shared_expert_gate", "embed_tokens", "embeddings", "wte", "word_embeddings"})
    if (last == name) return true;
  return kParts.match(module);
}

}  // namespace

QuantConfig QuantConfig::parse(const Json& config, const Json* hf_quant_config) {
  std::vector<std::string> problems;
  QuantConfig out;
  out.plain_ = plain_scheme(config, problems);
  const Json* announcement = find_announcement(config, problems);
  if (announcement != nullptr) read_announcement(*announcement, out.rules_, problems);
  refuse_too_many(out.rules_, problems);
  if (hf_quant_config != nullptr) {
    QuantRules sidecar;
    read_modelopt_sidecar(*hf_quant_config, sidecar, problems);
    refuse_too_many(sidecar, problems);
    if (announcement == nullptr) {
      out.rules_ = std::move(sidecar);
    } else if (problems.empty()) {
      reconcile(out.rules_, sidecar, problems, out.notes_);
    }
  }
  if (!problems.empty()) {
    const std::string words = fmt::format("what the configuration says about quantisation cannot be run ({} problem{}):\n  {}",
                                          problems.size(), problems.size() == 1 ? "" : "s", fmt::join(problems, "\n  "));
    for (std::string& problem : problems) problem.insert(0, "what the configuration says about quantisation cannot be run: ");
    throw ListedError(Errc::unsupported, words, std::move(problems));
  }
  return out;
}

LinearScheme QuantConfig::scheme_of(std::string_view module) const {
  const LinearScheme plain{plain_, kF32};
  if (never_quantized(module) || rules_.excluded.match(module)) return plain;
  for (const QuantRule& rule : rules_.rules)
    if (rule.every_linear || rule.modules.match(module)) return rule.scheme;
  return plain;
}

std::string QuantConfig::describe() const {
  std::string out = rules_.rules.empty() ? fmt::format("not quantised, {}", to_string(plain_)) : rules_.method + ": ";
  for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
    const QuantRule& rule = rules_.rules[i];
    out += fmt::format("{}{} weights{} for {}", i == 0 ? "" : "; ", to_string(rule.scheme.weights),
                       rule.scheme.activations == kF32 ? "" : fmt::format(" with {} inputs", to_string(rule.scheme.activations)),
                       rule.every_linear ? "all linears" : fmt::format("{} entries", rule.modules.entries().size()));
  }
  const std::vector<std::string>& excluded = rules_.excluded.entries();
  if (!excluded.empty()) {
    const std::size_t shown = std::min<std::size_t>(excluded.size(), 3);
    out += fmt::format("; not {}{}", fmt::join(excluded.begin(), excluded.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       excluded.size() > shown ? fmt::format(" and {} more entries", excluded.size() - shown) : "");
  }
  if (rules_.fp8_kv) out += "; FP8 KV cache";
  return out;
}

}  // namespace conclave
