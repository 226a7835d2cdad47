#pragma once
// Numbers written in text, read as Python's int() and float() read them (white space already taken off).
#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace conclave::jinja {

std::optional<Int> read_whole(std::string_view text, Int base);  // base 0: by the prefix; nothing also beyond 127 bits
std::optional<double> read_real(std::string_view text);

}  // namespace conclave::jinja
