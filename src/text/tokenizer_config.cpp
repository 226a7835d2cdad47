#include "text/tokenizer_config.h"

#include <fmt/format.h>

#include "conclave/error.h"
#include "io/json.h"

namespace conclave {
namespace {

constexpr const char* kFile = "tokenizer_config.json";

// "<s>", {"content": "<s>", ...}, null or absent.
std::optional<std::string> read_token(const Json& json, const char* field) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("content") && (*found)["content"].is_string())
    return (*found)["content"].get<std::string>();
  throw Error(Errc::corrupt, fmt::format("{}: {}: expected a string or an object with \"content\"", kFile, field));
}

std::optional<bool> read_flag(const Json& json, const char* field) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) return std::nullopt;
  if (!found->is_boolean()) throw Error(Errc::corrupt, fmt::format("{}: {}: expected true or false", kFile, field));
  return found->get<bool>();
}

}  // namespace

TokenizerConfig TokenizerConfig::from_json(std::string_view text) {
  TokenizerConfig config;
  if (text.empty()) return config;
  const Json json = parse_json(text, kFile, {.max_bytes = std::size_t{16} << 20, .max_depth = 64, .allow_non_finite = true});
  if (!json.is_object()) throw Error(Errc::corrupt, fmt::format("{}: expected an object", kFile));
  config.bos = read_token(json, "bos_token");
  config.eos = read_token(json, "eos_token");
  config.pad = read_token(json, "pad_token");
  config.add_bos = read_flag(json, "add_bos_token");
  config.add_eos = read_flag(json, "add_eos_token");
  return config;
}

}  // namespace conclave
