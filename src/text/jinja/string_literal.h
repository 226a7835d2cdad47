#pragma once
// The escapes of a Python string literal.
#include <string>
#include <string_view>

namespace conclave::jinja {

// `inside` stands between the quotes. Throws Error{corrupt} for an escape that makes no character.
std::string unescape(std::string_view inside, int line);

}  // namespace conclave::jinja
