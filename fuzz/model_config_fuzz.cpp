// config.json as any bytes: a configuration, or an Error.
#include <cstdint>
#include <string_view>

#include "conclave/error.h"
#include "io/json.h"
#include "models/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave;
  try {
    const Json config = parse_json({reinterpret_cast<const char*>(data), size}, "config.json", {std::size_t{1} << 20, 64, true});
    parse_model_config(config, &config);
  } catch (const Error&) {
  }
  return 0;
}
