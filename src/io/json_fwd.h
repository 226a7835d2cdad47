#pragma once
// The names of the JSON types, for headers that only pass them on: the library's own header takes seconds to compile.
#include <nlohmann/json_fwd.hpp>

namespace conclave {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

}  // namespace conclave
