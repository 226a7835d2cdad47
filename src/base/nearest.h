#pragma once
// "Unknown name 'latnecy'; did you mean 'latency'?" for options, environment variables, backends and files.
#include <span>
#include <string>
#include <string_view>

namespace conclave {

// The known name with the smallest edit distance to `name`; empty when none is nearer than half of its length.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// " (did you mean 'x'?)" or "".
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace conclave
