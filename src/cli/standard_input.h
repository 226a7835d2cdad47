#pragma once
// What is typed or piped in: never more than can be tokenized, since a pipe may have no end.
#include <optional>
#include <string>

namespace conclave::cli {

// Everything. Throws Error{bad_input} for more than kMostTextBytes.
std::string read_all();

// The next line without its end; nothing at the end of the input, and when a signal interrupts the waiting. Throws as above.
std::optional<std::string> read_line();

}  // namespace conclave::cli
