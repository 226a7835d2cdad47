#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace conclave {
namespace {

constexpr char32_t kLastCharacter = 0x143;  // 68 bytes are not printable: U+0100 to U+0143

struct Alphabet {
  std::array<char16_t, 256> character{};
  std::array<std::int16_t, kLastCharacter + 1> byte{};

  constexpr Alphabet() {
    byte.fill(-1);
    char16_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const char16_t c = printable ? static_cast<char16_t>(b) : next++;
      character[static_cast<std::size_t>(b)] = c;
      byte[c] = static_cast<std::int16_t>(b);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

void append_as_byte_characters(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) append_character(out, kAlphabet.character[static_cast<unsigned char>(byte)]);
}

void append_spelled_bytes(std::string& out, std::string_view token) {
  const std::size_t before = out.size();
  std::size_t at = 0;
  while (at < token.size()) {
    const char32_t c = next_character(token, at);
    const int byte = c <= kLastCharacter ? kAlphabet.byte[c] : -1;
    if (byte < 0) {
      out.resize(before);
      out.append(token);
      return;
    }
    out.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  }
}

}  // namespace conclave
