#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "text/jinja/special_casing.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

char32_t simple(utf8proc_int32_t (*mapping)(utf8proc_int32_t), char32_t c) {
  return static_cast<char32_t>(mapping(static_cast<utf8proc_int32_t>(c)));
}

void append_upper(std::string& out, char32_t c) {
  const std::string_view special = special_upper(c);
  special.empty() ? append_character(out, simple(utf8proc_toupper, c)) : void(out += special);
}

void append_title(std::string& out, char32_t c) {
  const std::string_view special = special_title(c);
  special.empty() ? append_character(out, simple(utf8proc_totitle, c)) : void(out += special);
}

bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

// Close to Unicode's Case_Ignorable: marks, modifiers and format characters, and the apostrophes and dots within words.
bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019;
  }
}

// Σ ends a word: a cased character before it and none after it, both past ignorable ones (SpecialCasing.txt, Final_Sigma).
bool is_final_sigma(std::string_view text, std::size_t begin, std::size_t end) {
  bool cased_before = false;
  while (begin > 0) {
    const char32_t c = previous_character(text, begin);
    if (is_case_ignorable(c)) continue;
    cased_before = is_cased(c);
    break;
  }
  while (cased_before && end < text.size()) {
    const char32_t c = next_character(text, end);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return cased_before;
}

void append_lower(std::string& out, std::string_view text, std::size_t begin, std::size_t end, char32_t c) {
  if (c == 0x130) {
    out += "i\xCC\x87";  // İ
  } else if (c == 0x3A3) {
    append_character(out, is_final_sigma(text, begin, end) ? 0x3C2 : 0x3C3);
  } else {
    append_character(out, simple(utf8proc_tolower, c));
  }
}

// Maps every character by f(out, begin, end, character).
template <class F>
std::string mapped(std::string_view text, const F& f) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    f(out, begin, at, c);
  }
  return out;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

bool is_letter(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_word(char32_t c) {
  const auto kind = category(c);
  return c == '_' || is_letter(c) || (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_lower(char32_t c) { return utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0; }
bool is_upper(char32_t c) { return utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0; }
bool is_title(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }

std::string upper(std::string_view text) {
  return mapped(text, [](std::string& out, std::size_t, std::size_t, char32_t c) { append_upper(out, c); });
}

std::string lower(std::string_view text) {
  return mapped(text,
                [&](std::string& out, std::size_t begin, std::size_t end, char32_t c) { append_lower(out, text, begin, end, c); });
}

std::string title(std::string_view text) {
  bool in_word = false;
  return mapped(text, [&](std::string& out, std::size_t begin, std::size_t end, char32_t c) {
    in_word ? append_lower(out, text, begin, end, c) : append_title(out, c);
    in_word = is_cased(c);
  });
}

std::string capitalize(std::string_view text) {
  return mapped(text, [&](std::string& out, std::size_t begin, std::size_t end, char32_t c) {
    begin == 0 ? append_title(out, c) : append_lower(out, text, begin, end, c);
  });
}

std::string swapcase(std::string_view text) {
  return mapped(text, [&](std::string& out, std::size_t begin, std::size_t end, char32_t c) {
    is_upper(c) ? append_lower(out, text, begin, end, c) : is_lower(c) ? append_upper(out, c) : append_character(out, c);
  });
}

std::string casefold(std::string_view text) {
  return mapped(text, [](std::string& out, std::size_t, std::size_t, char32_t c) {
    std::array<utf8proc_int32_t, 8> folded{};
    int boundary = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded.data(), folded.size(), UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) append_character(out, static_cast<char32_t>(folded[static_cast<std::size_t>(i)]));
  });
}

std::string_view skip_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t next = at;
    if (!is_space(next_character(text, next))) break;
    at = next;
  }
  return text.substr(at);
}

std::string_view drop_trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t before = end;
    if (!is_space(previous_character(text, before))) break;
    end = before;
  }
  return text.substr(0, end);
}

std::size_t byte_of(const Text& text, std::size_t character) {
  if (text.ascii()) return std::min(character, text.utf8.size());
  std::size_t at = 0;
  for (; at < text.utf8.size() && character > 0; --character) at += utf8_length(text.utf8[at]);
  return at;
}

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace conclave::jinja
