#include "cli/message.h"

#include <fmt/format.h>

#include <cstdio>

#include "io/json.h"
#include "text/utf8.h"

namespace conclave::cli {

std::string printable(std::string_view text) {
  const std::string whole = repair_utf8(text);
  std::string out;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(whole, at);
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    if (control && c != '\n')
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out.append(whole, begin, at - begin);
  }
  return out;
}

void say(std::string_view text) noexcept try {
  const std::string shown = printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
} catch (const std::bad_alloc&) {
  std::fputs("out of memory\n", stderr);
}

void print_json(const Json& json) { fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace)); }

}  // namespace conclave::cli
