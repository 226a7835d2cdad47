#pragma once
// Words for whoever sits at the terminal. They may quote a file or an option of anybody's making.
#include <string>
#include <string_view>

namespace conclave::cli {

// `text` as a terminal shows it and does not obey it: control bytes but newlines as \x1b, broken UTF-8 as U+FFFD.
std::string printable(std::string_view text);

// Writes printable(text) to stderr at once. A stderr that is full or closed is nobody's error: there is no place left to say so.
void say(std::string_view text) noexcept;

}  // namespace conclave::cli
