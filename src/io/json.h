#pragma once
// JSON from untrusted bytes: size, depth and key rules are checked before and while nlohmann-json parses.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/json_fwd.h"

namespace conclave {

using Json = nlohmann::json;                 // objects sorted by key
using OrderedJson = nlohmann::ordered_json;  // objects in the order of the text; look-up by key is linear

struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  int max_depth = 64;             // of nested arrays and objects; [] has depth 1
  bool allow_non_finite = false;  // accept bare Infinity, -Infinity and NaN, as Python's json writes them (config.json)
};

// Throws Error{corrupt}, with line and column: not UTF-8, a byte order mark, syntax, a NUL, too large, too deep, a key
// twice in one object, a number beyond the range of double. `what` names the source in the message ("config.json").
Json parse_json(std::string_view text, std::string_view what, const JsonLimits& = {});
// The same, keeping the order of keys (tool schemas, chat messages, tokenizers).
OrderedJson parse_ordered_json(std::string_view text, std::string_view what, const JsonLimits& = {});

}  // namespace conclave
