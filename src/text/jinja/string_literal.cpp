#include "text/jinja/string_literal.h"

#include <algorithm>
#include <charconv>

#include "text/jinja/lexer.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

// \xHH, \uHHHH, \UHHHHHHHH: `digits` of them, all needed.
void append_hex(std::string& out, std::string_view& rest, std::size_t digits, int line) {
  std::uint32_t number = 0;
  const std::string_view hex = rest.substr(0, digits);
  const auto [end, problem] = std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
  if (hex.size() < digits || problem != std::errc() || end != hex.data() + hex.size())
    refuse_template(line, "truncated escape in a string");
  if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000))
    refuse_template(line, "an escape in a string that is no character");
  append_character(out, number);
  rest.remove_prefix(digits);
}

void append_octal(std::string& out, std::string_view& rest) {
  std::uint32_t number = 0;
  for (int i = 0; i < 3 && !rest.empty() && rest.front() >= '0' && rest.front() <= '7'; ++i, rest.remove_prefix(1)) {
    number = number * 8 + static_cast<std::uint32_t>(rest.front() - '0');
  }
  append_character(out, number);
}

// `rest` begins after the backslash.
void append_escape(std::string& out, std::string_view& rest, int line) {
  static constexpr std::string_view kNames = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const char c = rest.front();
  if (c >= '0' && c <= '7') return append_octal(out, rest);
  rest.remove_prefix(1);
  if (const std::size_t at = kNames.find(c); at != std::string_view::npos) {
    out += kMeanings[at];
  } else if (c == 'x' || c == 'u' || c == 'U') {
    append_hex(out, rest, c == 'x' ? 2 : c == 'u' ? 4 : 8, line);
  } else if (c == 'N') {
    refuse_template(line, "characters by name (\\N{...}) are outside the subset");
  } else if (c != '\n') {  // a backslash before a newline joins the lines; before anything else it stays
    out += '\\', out += c;
  }
}

}  // namespace

std::string unescape(std::string_view inside, int line) {
  std::string out;
  while (!inside.empty()) {
    const std::size_t plain = std::min(inside.find('\\'), inside.size());
    out += inside.substr(0, plain);
    inside.remove_prefix(plain);
    if (inside.size() < 2) break;
    inside.remove_prefix(1);
    append_escape(out, inside, line);
  }
  return out;
}

}  // namespace conclave::jinja
