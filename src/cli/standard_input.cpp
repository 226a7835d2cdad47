#include "cli/standard_input.h"

#include <fmt/format.h>

#include <cstdio>

#include "conclave/error.h"
#include "text/text_size.h"

namespace conclave::cli {
namespace {

// Reads on until `end` (not kept; EOF: none) or the end of the input; says whether anything was read.
bool read_until(int end, std::string& text) {
  bool any = false;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    any = true;
    if (c == end) break;
    if (text.size() == kMostTextBytes)
      throw Error(Errc::bad_input,
                  fmt::format("stdin: expected a prompt of at most {} bytes, which can be tokenized; found more", kMostTextBytes));
    text += static_cast<char>(c);
  }
  return any;
}

}  // namespace

std::string read_all() {
  std::string text;
  read_until(EOF, text);
  return text;
}

std::optional<std::string> read_line() {
  std::string line;
  if (!read_until('\n', line)) return std::nullopt;
  return line;
}

}  // namespace conclave::cli
