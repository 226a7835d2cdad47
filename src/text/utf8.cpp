#include "text/utf8.h"

#include <cstring>

namespace conclave {

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const std::size_t length = utf8_length(text[at]);
  char32_t character = 0;
  switch (length) {
    case 1: character = byte(0); break;
    case 2: character = (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F); break;
    case 3: character = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F); break;
    default: character = (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
  at += length;
  return character;
}

char32_t previous_character(std::string_view text, std::size_t& end) {
  do {
    --end;
  } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  std::size_t at = end;
  return next_character(text, at);
}

void append_character(std::string& out, char32_t character) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  const auto tail = [&](int shift) { put(0x80 | ((character >> shift) & 0x3F)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6), tail(0);
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12), tail(6), tail(0);
  } else {
    put(0xF0 | character >> 18), tail(12), tail(6), tail(0);
  }
}

void Utf8Assembler::push(std::string_view bytes, std::string& out) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (held_size_ == 0) {
      std::size_t ascii = at;
      while (ascii < bytes.size() && static_cast<unsigned char>(bytes[ascii]) < 0x80) ++ascii;
      out.append(bytes, at, ascii - at);
      at = ascii;
      if (at == bytes.size()) return;
    }
    push_byte(static_cast<unsigned char>(bytes[at++]), out);
  }
}

// Table 3-7 of the Unicode standard: which bytes may follow which.
void Utf8Assembler::push_byte(unsigned char byte, std::string& out) {
  if (held_size_ > 0) {
    if (byte >= lowest_ && byte <= highest_) {
      held_[held_size_++] = static_cast<char>(byte);
      lowest_ = 0x80, highest_ = 0xBF;
      if (--missing_ > 0) return;
      out.append(held_.data(), held_size_);
      held_size_ = 0;
      return;
    }
    finish(out);  // and the byte is looked at afresh
  }
  if (byte < 0x80) {
    out.push_back(static_cast<char>(byte));
    return;
  }
  if (byte < 0xC2 || byte > 0xF4) {
    out.append(kReplacementCharacter);
    return;
  }
  held_[0] = static_cast<char>(byte);
  held_size_ = 1;
  missing_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  lowest_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
  highest_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
}

void Utf8Assembler::finish(std::string& out) {
  if (held_size_ > 0) out.append(kReplacementCharacter);
  held_size_ = missing_ = 0;
  lowest_ = 0x80, highest_ = 0xBF;
}

bool is_valid_utf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::uint64_t eight = 0;
    while (at + 8 <= bytes.size() && (std::memcpy(&eight, bytes.data() + at, 8), (eight & 0x8080808080808080ull) == 0)) at += 8;
    if (at == bytes.size()) return true;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(bytes[at]);
    if (first < 0xC2 || first > 0xF4 || at + length > bytes.size()) return false;
    const unsigned char lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < lowest || byte(1) > highest) return false;
    for (std::size_t i = 2; i < length; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return false;
    }
    at += length;
  }
  return true;
}

std::string repair_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  Utf8Assembler assembler;
  assembler.push(bytes, out);
  assembler.finish(out);
  return out;
}

}  // namespace conclave
