#pragma once
// Text from a file or a user, made fit for a message: in quotes, cut when long, control bytes shown as \x1b.
#include <cstddef>
#include <string>
#include <string_view>

namespace conclave {

// UTF-8 passes through and is not cut inside a character.
inline std::string in_quotes(std::string_view text, std::size_t most_bytes = 120) {
  constexpr char kHex[] = "0123456789abcdef";
  const bool cut = text.size() > most_bytes;
  std::size_t end = cut ? most_bytes : text.size();
  while (cut && end > 0 && (text[end] & 0xc0) == 0x80) --end;
  std::string out = "'";
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out + (cut ? "...'" : "'");
}

}  // namespace conclave
