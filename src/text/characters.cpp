#include "text/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace conclave {
namespace {

using CodePoint = utf8proc_int32_t;

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<CodePoint>(c)); }

// The first character that the form can change or reorder.
char32_t first_touched(NormalForm form) {
  switch (form) {
    case NormalForm::nfc: return 0x300;
    case NormalForm::nfd: return 0xC0;
    default: return 0xA0;
  }
}

void append_decomposed(std::vector<CodePoint>& out, char32_t c, int options) {
  constexpr std::size_t kLongest = 18;  // U+FDFA
  std::array<CodePoint, kLongest> parts{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<CodePoint>(c), parts.data(), kLongest,
                                             static_cast<utf8proc_option_t>(options), &boundary);
  CONCLAVE_CHECK(count >= 0 && count <= static_cast<utf8proc_ssize_t>(kLongest));
  out.insert(out.end(), parts.begin(), parts.begin() + count);
}

// Canonical order: runs of characters with a combining class, sorted by it. (utf8proc's own sort is quadratic.)
void order_marks(std::vector<CodePoint>& text) {
  const auto combining = [](CodePoint c) { return utf8proc_get_property(c)->combining_class; };
  const auto starter = [&](CodePoint c) { return combining(c) == 0; };
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if_not(begin, text.end(), starter);
    const auto end = std::find_if(begin, text.end(), starter);
    std::stable_sort(begin, end, [&](CodePoint a, CodePoint b) { return combining(a) < combining(b); });
    begin = end;
  }
}

}  // namespace

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == U' ' || (c >= 0x09 && c <= 0x0D);
  if (c == 0x85) return true;
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_numeric(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > 0x20 && c < 0x7F && !(c >= U'0' && c <= U'9') && !((c | 0x20) >= U'a' && (c | 0x20) <= U'z');
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_nonspacing_mark(char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; }

bool is_word(char32_t c) {
  static const Regex word("[\\w\\x{200C}\\x{200D}]", "is_word");
  std::string text;
  append_character(text, c);
  bool found = false;
  word.for_each_match(text, [&](std::size_t, std::size_t) { found = true; });
  return found;
}

std::string to_lower(std::string_view text) {
  constexpr char32_t kDottedI = 0x130;  // the one character whose lower case is two
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kDottedI) {
      out += "i\xCC\x87";
    } else {
      append_character(out, static_cast<char32_t>(utf8proc_tolower(static_cast<CodePoint>(c))));
    }
  }
  return out;
}

std::string normalize(std::string_view text, NormalForm form) {
  const char32_t touched = first_touched(form);
  bool unchanged = true;
  for (std::size_t at = 0; at < text.size() && unchanged;) unchanged = next_character(text, at) < touched;
  if (unchanged) return std::string(text);

  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const bool composed = form == NormalForm::nfc || form == NormalForm::nfkc;
  const int options = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compatible ? UTF8PROC_COMPAT : 0);
  std::vector<CodePoint> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) append_decomposed(characters, next_character(text, at), options);
  order_marks(characters);
  auto count = static_cast<utf8proc_ssize_t>(characters.size());
  if (composed) count = utf8proc_normalize_utf32(characters.data(), count, static_cast<utf8proc_option_t>(options));
  CONCLAVE_CHECK(count >= 0 && count <= static_cast<utf8proc_ssize_t>(characters.size()));
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_character(out, static_cast<char32_t>(characters[static_cast<std::size_t>(i)]));
  return out;
}

}  // namespace conclave
