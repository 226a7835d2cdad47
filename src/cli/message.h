#pragma once
// Words for whoever sits at the terminal. They may quote a file or an option of anybody's making.
#include <string>
#include <string_view>

#include "io/json_fwd.h"

namespace conclave::cli {

// `text` as a terminal shows it and does not obey it: control bytes but newlines as \x1b, broken UTF-8 as U+FFFD.
std::string printable(std::string_view text);

// Writes printable(text) to stderr at once. A stderr that is full or closed is nobody's error: there is no place left to say so.
void say(std::string_view text) noexcept;

// Writes it to stdout, indented, with a line's end; broken UTF-8 becomes U+FFFD.
void print_json(const Json&);

}  // namespace conclave::cli
