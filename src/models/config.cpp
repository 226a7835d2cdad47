#include "models/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/problems.h"
#include "io/json.h"

namespace conclave {
namespace {

std::string joined(ConfigReader::Keys keys) { return fmt::format("{}", fmt::join(keys, " / ")); }

// Values of a hostile file are shown shortened.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

// Where the rope's own keys live: transformers 5 has one object with theta in it, transformers 4 a scaling object beside
// rope_theta.
const Json* rope_object(ConfigReader& model) {
  const Json *newer = model.find({"rope_parameters"}), *older = model.find({"rope_scaling"});
  if (newer != nullptr && older != nullptr && *newer != *older)
    model.problem("rope_parameters and rope_scaling are both given and differ: keep the one that is meant");
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const Json* found = model.find({key});
    if (found == nullptr) continue;
    if (found->is_object()) {
      for (const auto& [name, value] : found->items())
        if (value.is_object()) model.problem(fmt::format("{}: values by kind of layer ({}) are not supported", key, name));
      return found;
    }
    model.problem(fmt::format("{}: expected an object, found a value of type {}", key, found->type_name()));
  }
  return nullptr;
}

double rope_partial(ConfigReader& model, ConfigReader& rope) {
  const double outer = model.number({"partial_rotary_factor"}, 0.0, 1.0, 1.0);
  return rope.number({"partial_rotary_factor"}, 0.0, 1.0, outer);
}

void parse_longrope(ConfigReader& rope, std::int64_t max_positions, RopeConfig& out) {
  out.short_factor = rope.numbers({"short_factor"}, 1e-6, 1e12);
  out.long_factor = rope.numbers({"long_factor"}, 1e-6, 1e12);
  out.longest_context = max_positions;
  if (rope.find({"factor"}) == nullptr)
    out.factor = static_cast<double>(max_positions) / static_cast<double>(out.original_max_positions);
}

RopeConfig parse_rope(ConfigReader& model, ConfigReader& rope, std::int64_t max_positions) {
  constexpr double kLarge = 1e12;
  RopeConfig out;
  const double theta = model.number({"rope_theta"}, 1.0, kLarge, 10000.0);
  out.theta = rope.number({"rope_theta"}, 1.0, kLarge, theta);
  out.type = rope.text({"rope_type", "type"}, "default");
  if (out.type == "default") return out;
  // Where transformers has no default for a number, neither do we.
  const auto unless = [&](bool needed, double fallback) { return needed ? std::nullopt : std::optional(fallback); };
  const bool llama3 = out.type == "llama3";
  out.factor = rope.number({"factor"}, 1.0, kLarge, unless(llama3 || out.type == "linear" || out.type == "yarn", 1.0));
  out.low_freq_factor = rope.number({"low_freq_factor"}, 1e-6, kLarge, unless(llama3, 1.0));
  out.high_freq_factor = rope.number({"high_freq_factor"}, 1e-6, kLarge, unless(llama3, 4.0));
  out.beta_fast = rope.number({"beta_fast"}, 1e-6, kLarge, 32.0);
  out.beta_slow = rope.number({"beta_slow"}, 1e-6, kLarge, 1.0);
  if (llama3 && rope.find({"low_freq_factor"}) != nullptr && rope.find({"high_freq_factor"}) != nullptr &&
      out.low_freq_factor > out.high_freq_factor)
    rope.problem(
        fmt::format("low_freq_factor {} must not be above high_freq_factor {}", out.low_freq_factor, out.high_freq_factor));
  if (out.type == "yarn" && out.beta_fast < out.beta_slow)
    rope.problem(fmt::format("beta_fast {} must not be below beta_slow {}", out.beta_fast, out.beta_slow));
  if (out.type == "yarn" && out.theta <= 1.0) rope.problem("rope_theta must be above 1 for yarn");
  out.mscale = rope.number({"mscale"}, 0.0, kLarge, 0.0);
  out.mscale_all_dim = rope.number({"mscale_all_dim"}, 0.0, kLarge, 0.0);
  out.attention_factor = rope.number({"attention_factor"}, 0.0, kLarge, 0.0);
  out.truncate = rope.boolean({"truncate"}, true);
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  const std::int64_t beside = model.integer({kOriginal}, 1, std::int64_t{1} << 32, max_positions);
  out.original_max_positions = rope.integer({kOriginal}, 2, std::int64_t{1} << 32, beside);
  if (out.type == "longrope") parse_longrope(rope, max_positions, out);
  return out;
}

constexpr std::size_t kMostLayers = 4096;
constexpr std::size_t kMostListed = 4096;  // integers of one key: a list by layers, or end ids, of which a model has a handful

// A list of the layers' kinds counts them where num_hidden_layers is left out.
std::optional<std::int64_t> listed_layers(const Json& model) {
  const auto list = model.find("layers_block_type");
  const bool counts = list != model.end() && list->is_array() && !list->empty() && list->size() <= kMostLayers;
  return counts ? std::optional(static_cast<std::int64_t>(list->size())) : std::nullopt;
}

void append_ids(std::vector<std::int32_t>& ids, const std::vector<std::int64_t>& more) {
  for (std::int64_t id : more)
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(static_cast<std::int32_t>(id));
}

}  // namespace

const Json* ConfigReader::find(Keys keys) const {
  for (std::string_view key : keys)
    if (const auto it = object_.find(key); it != object_.end() && !it->is_null()) return &*it;
  return nullptr;
}

bool ConfigReader::is_null(std::string_view key) const {
  const auto it = object_.find(key);
  return it != object_.end() && it->is_null();
}

void ConfigReader::fail(Keys keys, std::string words) {
  failed_.insert(keys.begin(), keys.end());
  problem(fmt::format("{}{}", joined(keys), words));
}

bool ConfigReader::failed(Keys keys) const {
  return std::ranges::any_of(keys, [&](std::string_view key) { return failed_.contains(key); });
}

void ConfigReader::contradiction(Keys keys, std::string words) {
  if (!failed(keys)) problem(std::move(words));
}

std::int64_t ConfigReader::integer(Keys keys, std::int64_t low, std::int64_t high, std::optional<std::int64_t> fallback) {
  const Json* value = find(keys);
  if (value == nullptr) {
    if (!fallback) fail(keys, fmt::format(" is missing (an integer from {} to {})", low, high));
    return fallback.value_or(high);
  }
  const bool fits = value->is_number_integer() && (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX);
  if (!fits || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high) {
    fail(keys, fmt::format(": expected an integer from {} to {}, found {}", low, high, shown(*value)));
    return high;
  }
  return value->get<std::int64_t>();
}

double ConfigReader::number(Keys keys, double low, double high, std::optional<double> fallback) {
  const Json* value = find(keys);
  if (value == nullptr) {
    if (!fallback) problem(fmt::format("{} is missing (a number from {} to {})", joined(keys), low, high));
    return fallback.value_or(low);
  }
  if (!value->is_number() || !(value->get<double>() >= low && value->get<double>() <= high)) {
    problem(fmt::format("{}: expected a number from {} to {}, found {}", joined(keys), low, high, shown(*value)));
    return low;
  }
  return value->get<double>();
}

bool ConfigReader::boolean(Keys keys, std::optional<bool> fallback) {
  const Json* value = find(keys);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  if (value != nullptr) problem(fmt::format("{}: expected true or false, found {}", joined(keys), shown(*value)));
  if (value == nullptr && !fallback) problem(fmt::format("{} is missing (true or false)", joined(keys)));
  return fallback.value_or(false);
}

std::string ConfigReader::text(Keys keys, std::optional<std::string> fallback) {
  const Json* value = find(keys);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  if (value != nullptr) fail(keys, fmt::format(": expected a text, found {}", shown(*value)));
  if (value == nullptr && !fallback) fail(keys, " is missing (a text)");
  return fallback.value_or("");
}

std::vector<std::int64_t> ConfigReader::integers(Keys keys, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> out;
  const Json* value = find(keys);
  if (value == nullptr) return out;
  if (value->is_array() && value->size() > kMostListed) {
    problem(fmt::format("{}: expected at most {} integers, found {}", joined(keys), kMostListed, value->size()));
    return out;
  }
  const Json list = value->is_array() ? *value : Json::array({*value});
  for (const Json& element : list) {
    if (!element.is_number_integer() || element.get<std::int64_t>() < low || element.get<std::int64_t>() > high) {
      problem(fmt::format("{}: expected integers from {} to {}, found {}", joined(keys), low, high, shown(element)));
      return {};
    }
    out.push_back(element.get<std::int64_t>());
  }
  return out;
}

std::vector<double> ConfigReader::numbers(Keys keys, double low, double high) {
  std::vector<double> out;
  const Json* list = find(keys);
  if (list == nullptr) return out;
  for (const Json& element : list->is_array() ? *list : Json::array({*list})) {
    if (!element.is_number() || !(element.get<double>() >= low && element.get<double>() <= high)) {
      problem(fmt::format("{}: expected numbers from {} to {}, found {}", joined(keys), low, high, shown(element)));
      return {};
    }
    out.push_back(element.get<double>());
  }
  return out;
}

void ConfigReader::only(std::string_view key, std::initializer_list<Scalar> allowed) {
  const Json* value = find({key});
  if (value == nullptr) return;
  std::string list;
  for (const Scalar& scalar : allowed) {
    const Json candidate = std::visit([](const auto& v) { return Json(v); }, scalar);
    if (*value == candidate) return;
    list += (list.empty() ? "" : ", ") + shown(candidate);
  }
  problem(fmt::format("{}: {} is not supported (supported: {})", key, shown(*value), list));
}

void ConfigReader::throw_problems() const {
  if (problems_.empty()) return;
  std::vector<std::string> all;
  for (const std::string& words : problems_) all.push_back(fmt::format("{}: {}", what_, words));
  throw ListedError(Errc::unsupported, fmt::format("{}: {}", what_, fmt::join(problems_, "; ")), std::move(all));
}

ModelConfig parse_model_config(const Json& config, const Json* generation_config) {
  if (!config.is_object()) throw Error(Errc::corrupt, "config.json: expected an object, found " + shown(config));
  const auto text = config.find("text_config");
  const bool nested = text != config.end() && text->is_object();
  ModelConfig out;
  out.json = std::make_shared<const Json>(nested ? *text : config);
  if (generation_config != nullptr && !generation_config->is_object())
    throw Error(Errc::corrupt, "generation_config.json: expected an object, found " + shown(*generation_config));
  out.generation = std::make_shared<const Json>(generation_config != nullptr ? *generation_config : Json::object());

  constexpr std::int64_t kMost = 1 << 24;  // far above every published size, far below overflow of products
  ConfigReader outer(config);
  ConfigReader reader(*out.json);
  if (const Json* names = outer.find({"architectures"});
      names != nullptr && names->is_array() && !names->empty() && names->front().is_string())
    out.architecture = names->front().get<std::string>();
  else
    reader.problem("architectures is missing (a list with one name, such as [\"Qwen3MoeForCausalLM\"])");
  out.model_type = reader.text({"model_type"}, "");
  out.layers = static_cast<std::int32_t>(reader.integer({"num_hidden_layers"}, 1, kMostLayers, listed_layers(*out.json)));
  out.hidden = static_cast<std::int32_t>(reader.integer({"hidden_size"}, 1, kMost));
  out.vocab = static_cast<std::int32_t>(reader.integer({"vocab_size"}, 1, kMost));
  out.heads = static_cast<std::int32_t>(reader.integer({"num_attention_heads"}, 1, 65536));
  out.kv_heads = static_cast<std::int32_t>(reader.integer({"num_key_value_heads"}, 1, 65536, out.heads));
  const std::int32_t usual_head =
      reader.failed({"hidden_size", "num_attention_heads"}) ? 65536 : std::max(1, out.hidden / out.heads);
  out.head_dim = static_cast<std::int32_t>(reader.integer({"head_dim"}, 1, 65536, usual_head));
  out.max_positions = static_cast<std::int32_t>(reader.integer({"max_position_embeddings"}, 1, 1 << 30, 2048));
  out.rms_eps = static_cast<float>(reader.number({"rms_norm_eps", "layer_norm_epsilon"}, 0.0, 1.0, 1e-6));
  out.tied_embeddings = reader.boolean({"tie_word_embeddings"}, nested && outer.boolean({"tie_word_embeddings"}, false));
  if (out.heads % out.kv_heads != 0)
    reader.contradiction(
        {"num_attention_heads", "num_key_value_heads"},
        fmt::format("num_attention_heads {} is not a multiple of num_key_value_heads {}", out.heads, out.kv_heads));

  const Json none = Json::object();
  const Json* rope = rope_object(reader);
  ConfigReader rope_reader(rope != nullptr ? *rope : none);
  out.rope = parse_rope(reader, rope_reader, out.max_positions);
  const auto turned = std::lround(out.head_dim * rope_partial(reader, rope_reader));
  out.rotary_dim = static_cast<std::int32_t>(reader.integer({"rotary_dim"}, 0, out.head_dim, turned));
  if (out.rotary_dim % 2 != 0)
    reader.contradiction({"head_dim", "hidden_size", "num_attention_heads", "rotary_dim"},
                         fmt::format("{} turned dimensions of a head: expected an even number", out.rotary_dim));

  ConfigReader generation(*out.generation, "generation_config.json");
  append_ids(out.eos_ids, reader.integers({"eos_token_id"}, 0, out.vocab - 1));
  append_ids(out.eos_ids, generation.integers({"eos_token_id"}, 0, out.vocab - 1));
  if (const auto bos = reader.integers({"bos_token_id"}, 0, out.vocab - 1); !bos.empty())
    out.bos_id = static_cast<std::int32_t>(bos.front());

  for (const ConfigReader* other : {&outer, &rope_reader})
    for (const std::string& words : other->problems()) reader.problem(words);
  for (const std::string& words : generation.problems()) reader.problem("generation_config.json: " + words);
  reader.throw_problems();
  return out;
}

}  // namespace conclave
