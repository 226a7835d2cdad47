#pragma once
// What a tokenizer takes from tokenizer_config.json.
#include <optional>
#include <string>
#include <string_view>

namespace conclave {

struct TokenizerConfig {
  std::optional<std::string> bos, eos, pad;  // the tokens' texts
  std::optional<bool> add_bos, add_eos;

  // Empty text: nothing is known. Other fields are of no concern to tokens. Throws Error{corrupt}.
  static TokenizerConfig from_json(std::string_view text);
};

}  // namespace conclave
