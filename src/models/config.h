#pragma once
// config.json in both key styles (transformers 4: rope_theta + rope_scaling; transformers 5: rope_parameters), flat or nested under
// text_config.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json_fwd.h"
#include "nn/rope.h"

namespace conclave {

// What every decoder has. Architectures read their own keys from `json` through ConfigReader.
struct ModelConfig {
  std::string architecture;  // "Qwen3MoeForCausalLM"
  std::string model_type;
  std::int32_t layers = 0, hidden = 0, vocab = 0;
  std::int32_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int32_t max_positions = 0;
  float rms_eps = 1e-6f;
  bool tied_embeddings = false;
  RopeConfig rope;
  std::int32_t rotary_dim = 0;        // how many of head_dim are turned
  std::vector<std::int32_t> eos_ids;  // union of config.json's and generation_config.json's
  std::optional<std::int32_t> bos_id;
  std::shared_ptr<const Json> json;        // the text model's object
  std::shared_ptr<const Json> generation;  // generation_config.json, or an empty object
};

// Reads the common keys and checks their ranges; `config` is the whole config.json. Throws Error{unsupported | corrupt} with
// every problem: key, what was expected, what was found.
ModelConfig parse_model_config(const Json& config, const Json* generation_config);

// Typed access that collects problems instead of stopping at the first. Keys are tried in order: aliases across versions.
class ConfigReader {
 public:
  explicit ConfigReader(const Json& object, std::string_view what = "config.json") : object_(object), what_(what) {}

  using Keys = std::initializer_list<std::string_view>;
  // An integer in [low, high]; without `fallback` the key must be there (null counts as absent). What stands in for one that is
  // not good is `high`, so that what it is the limit of is not refused because of it.
  std::int64_t integer(Keys, std::int64_t low, std::int64_t high, std::optional<std::int64_t> fallback = {});
  double number(Keys, double low, double high, std::optional<double> fallback = {});
  bool boolean(Keys, std::optional<bool> fallback = {});
  std::string text(Keys, std::optional<std::string> fallback = {});
  // Absent: empty; a single integer: one. At most 4096.
  std::vector<std::int64_t> integers(Keys, std::int64_t low, std::int64_t high);

  std::vector<double> numbers(Keys, double low, double high);  // absent: empty

  // The key must be absent, null or one of `allowed`: a value that we do not implement is refused by key and value.
  using Scalar = std::variant<std::string_view, bool, std::int64_t>;
  void only(std::string_view key, std::initializer_list<Scalar> allowed);
  const Json* find(Keys) const;
  bool is_null(std::string_view key) const;  // where null says something else than no key
  void problem(std::string words) { problems_.push_back(std::move(words)); }
  // What the values of these keys say together; nothing when one of them is a problem already, as it was not the file's value.
  void contradiction(Keys, std::string words);
  bool failed(Keys) const;  // one of them is a problem
  const std::vector<std::string>& problems() const { return problems_; }
  void throw_problems() const;  // Error{unsupported} listing all of them, if any

 private:
  const Json& object_;
  std::string what_;
  void fail(Keys, std::string words);
  std::vector<std::string> problems_;
  std::set<std::string, std::less<>> failed_;  // keys
};

}  // namespace conclave
