// parse_json, parse_ordered_json: any bytes give a value or Error{corrupt}, and both read the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "conclave/error.h"
#include "io/json.h"

namespace {

template <class Parse>
auto attempt(Parse parse) -> std::optional<decltype(parse())> {
  try {
    return parse();
  } catch (const conclave::Error& error) {
    if (error.code() != conclave::Errc::corrupt) std::abort();
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool non_finite : {false, true}) {
    const conclave::JsonLimits limits{.max_bytes = 1 << 20, .max_depth = 32, .allow_non_finite = non_finite};
    const auto sorted = attempt([&] { return conclave::parse_json(text, "fuzz", limits); });
    const auto ordered = attempt([&] { return conclave::parse_ordered_json(text, "fuzz", limits); });
    if (sorted.has_value() != ordered.has_value()) std::abort();
    if (sorted && sorted->dump() != conclave::Json(*ordered).dump()) std::abort();
    // The library alone must agree wherever we accept without our own extension.
    if (sorted && !non_finite && conclave::Json::parse(text, nullptr, false) != *sorted) std::abort();
  }
  return 0;
}
