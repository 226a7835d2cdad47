#pragma once
// UTF-8 in and out. Invalid bytes become U+FFFD by the maximal-subpart rule (Unicode 3.9, as WHATWG, Python and Rust do):
// one U+FFFD for each longest run of bytes that begins a character and cannot continue it, else one for each byte.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace conclave {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the character that a (valid) first byte begins: 1 to 4.
constexpr std::size_t utf8_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The character at text[at] and, in `at`, the place of the next one. `text` must be valid UTF-8 and `at` a boundary before its end.
char32_t next_character(std::string_view text, std::size_t& at);

// The character that ends right before text[end]; `end` becomes its first byte. Same conditions; end > 0.
char32_t previous_character(std::string_view text, std::size_t& end);

void append_character(std::string& out, char32_t character);

bool is_valid_utf8(std::string_view bytes);

// Bytes given piece by piece, characters taken out as soon as they are complete. Holds at most three bytes.
class Utf8Assembler {
 public:
  // Appends to `out` every character now complete, and a U+FFFD for each maximal subpart now known to be broken.
  void push(std::string_view bytes, std::string& out);
  // The end: what is held is broken. Appends its U+FFFD, if anything is held.
  void finish(std::string& out);

 private:
  void push_byte(unsigned char byte, std::string& out);

  std::array<char, 4> held_{};
  std::uint8_t held_size_ = 0;
  std::uint8_t missing_ = 0;                      // continuation bytes still to come
  unsigned char lowest_ = 0x80, highest_ = 0xBF;  // the range of the next one
};

// `bytes` with everything invalid replaced.
std::string repair_utf8(std::string_view bytes);

}  // namespace conclave
