// str's methods that change text, and its questions about characters.
#include "text/jinja/methods_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/access.h"
#include "text/jinja/format.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

// Calls f for every character until it says false; whether it never did. False for an empty text, as str.isX is.
template <class F>
bool every_character(std::string_view text, const F& f) {
  for (std::size_t at = 0; at < text.size();) {
    if (!f(next_character(text, at))) return false;
  }
  return !text.empty();
}

// At least one cased character, and none of the other case.
bool only_case(std::string_view text, bool (*wanted)(char32_t), bool (*unwanted)(char32_t)) {
  bool found = false;
  const bool clean = every_character(text, [&](char32_t c) {
    found = found || wanted(c);
    return !unwanted(c) && !is_title(c);
  });
  return clean && found;
}

bool is_digit(char32_t c) { return is_word(c) && !is_letter(c) && c != '_'; }

template <std::string (*F)(std::string_view)>
Value changed(Runtime& rt, const Value& self, const Given&) {
  return rt.text(F(self.text().utf8), self.text().markup);
}

template <bool (*F)(char32_t)>
Value all_are(Runtime&, const Value& self, const Given&) {
  return every_character(self.text().utf8, F);
}

template <Sides kSides>
Value stripped(Runtime& rt, const Value& self, const Given& given) {
  const auto chars = given.is_none(0) ? std::nullopt : std::optional(given.text(0, ""));
  return rt.text(std::string(strip(self.text().utf8, chars, kSides)), self.text().markup);
}

template <Sides kSides>
Value padded(Runtime& rt, const Value& self, const Given& given) {
  const std::string_view fill = given.text(1, " ");
  if (count_characters(fill) != 1) rt.fail("The fill character must be exactly one character long");
  return pad(rt, self.text(), given.whole(0, 0), fill, kSides);
}

Value zfill(Runtime& rt, const Value& self, const Given& given) {
  const std::string_view text = self.text().utf8;
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const Int missing = given.whole(0, 0) - static_cast<Int>(self.text().length);
  Writer out(rt);
  out.put(text.substr(0, sign ? 1 : 0));
  out.fill(static_cast<std::size_t>(std::clamp<Int>(missing, 0, Int{1} << 62)), "0");
  out.put(text.substr(sign ? 1 : 0));
  return out.value(self.text().markup);
}

Value replace_method(Runtime& rt, const Value& self, const Given& given) {
  const Value part = self.text().markup && given[1].is(Kind::text) ? escape(rt, given[1]) : given[1];
  given.text(1, "");
  const Value result = replace(rt, self.text(), given.text(0, ""), part.text().utf8, given.whole(2, -1));
  return self.text().markup ? rt.text(result.text().utf8, true) : result;
}

Value join(Runtime& rt, const Value& self, const Given& given) {
  const bool markup = self.text().markup;
  const Next next = iterate_or_fail(rt, given[0]);
  Writer out(rt);
  bool first = true;
  for (std::size_t i = 0; auto item = next(); ++i) {
    if (!item->is(Kind::text) && !markup)
      rt.fail(fmt::format("sequence item {}: expected str instance, {} found", i, type_name(*item)));
    if (!first) out.put(self.text().utf8);
    first = false;
    out.put((markup ? escape(rt, *item) : *item).text().utf8);
  }
  return out.value(markup);
}

Value expandtabs(Runtime& rt, const Value& self, const Given& given) {
  const Int size = std::clamp<Int>(given.whole(0, 8), 0, 1 << 30);
  const std::string_view text = self.text().utf8;
  Writer out(rt);
  Int column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    if (c == '\t') {
      const Int gap = size == 0 ? Int{0} : size - column % size;
      out.fill(static_cast<std::size_t>(gap), " ");
      column += gap;
    } else {
      out.put(text.substr(begin, at - begin));
      column = c == '\n' || c == '\r' ? Int{0} : column + 1;
    }
  }
  return out.value(self.text().markup);
}

Value encode(Runtime& rt, const Value& self, const Given& given) {
  if (lower(given.text(0, "utf-8")) != "utf-8" && lower(given.text(0, "utf8")) != "utf8") rt.fail("only utf-8 can be encoded");
  return Value(std::shared_ptr<Object>(rt.object<Bytes>(self)));
}

Value remove_prefix(Runtime& rt, const Value& self, const Given& given) {
  std::string_view text = self.text().utf8;
  if (text.starts_with(given.text(0, ""))) text.remove_prefix(given.text(0, "").size());
  return rt.text(std::string(text), self.text().markup);
}

Value remove_suffix(Runtime& rt, const Value& self, const Given& given) {
  std::string_view text = self.text().utf8;
  if (text.ends_with(given.text(0, ""))) text.remove_suffix(given.text(0, "").size());
  return rt.text(std::string(text), self.text().markup);
}

Value is_ascii(Runtime&, const Value& self, const Given&) { return self.text().ascii(); }
Value is_lower_text(Runtime&, const Value& self, const Given&) { return only_case(self.text().utf8, is_lower, is_upper); }
Value is_upper_text(Runtime&, const Value& self, const Given&) { return only_case(self.text().utf8, is_upper, is_lower); }
Value is_title_text(Runtime&, const Value& self, const Given&) {
  const std::string& text = self.text().utf8;
  return title(text) == text && (lower(text) != text || upper(text) != text);
}
Value is_alnum(Runtime&, const Value& self, const Given&) {
  return every_character(self.text().utf8, [](char32_t c) { return is_word(c) && c != '_'; });
}
Value is_printable_text(Runtime&, const Value& self, const Given&) {
  return self.text().utf8.empty() || every_character(self.text().utf8, is_printable);
}
Value format(Runtime& rt, const Value& self, const Given& given) { return brace_format(rt, self, given.all()); }

constexpr std::array kMethods = {
    Builtin{"capitalize", "", 0, changed<capitalize>},
    Builtin{"casefold", "", 0, changed<casefold>},
    Builtin{"center", "width fillchar", 1, padded<Sides::both>},
    Builtin{"encode", "encoding errors", 0, encode},
    Builtin{"expandtabs", "tabsize", 0, expandtabs},
    Builtin{"format", "*", 0, format},
    Builtin{"isalnum", "", 0, is_alnum},
    Builtin{"isalpha", "", 0, all_are<is_letter>},
    Builtin{"isascii", "", 0, is_ascii},
    Builtin{"isdecimal", "", 0, all_are<is_decimal>},
    Builtin{"isdigit", "", 0, all_are<is_decimal>},
    Builtin{"islower", "", 0, is_lower_text},
    Builtin{"isnumeric", "", 0, all_are<is_digit>},
    Builtin{"isprintable", "", 0, is_printable_text},
    Builtin{"isspace", "", 0, all_are<is_space>},
    Builtin{"istitle", "", 0, is_title_text},
    Builtin{"isupper", "", 0, is_upper_text},
    Builtin{"join", "iterable", 1, join},
    Builtin{"ljust", "width fillchar", 1, padded<Sides::right>},
    Builtin{"lower", "", 0, changed<lower>},
    Builtin{"lstrip", "chars", 0, stripped<Sides::left>},
    Builtin{"removeprefix", "prefix", 1, remove_prefix},
    Builtin{"removesuffix", "suffix", 1, remove_suffix},
    Builtin{"replace", "old new count", 2, replace_method},
    Builtin{"rjust", "width fillchar", 1, padded<Sides::left>},
    Builtin{"rstrip", "chars", 0, stripped<Sides::right>},
    Builtin{"strip", "chars", 0, stripped<Sides::both>},
    Builtin{"swapcase", "", 0, changed<swapcase>},
    Builtin{"title", "", 0, changed<title>},
    Builtin{"upper", "", 0, changed<upper>},
    Builtin{"zfill", "width", 1, zfill},
};

bool has(Sides sides, Sides side) { return (static_cast<int>(sides) & static_cast<int>(side)) != 0; }

}  // namespace

std::string_view strip(std::string_view text, std::optional<std::string_view> chars, Sides sides) {
  std::u32string wanted;
  for (std::size_t at = 0; chars && at < chars->size();) wanted += next_character(*chars, at);
  const auto goes = [&](char32_t c) { return chars ? wanted.find(c) != std::u32string::npos : is_space(c); };
  while (has(sides, Sides::left) && !text.empty()) {
    std::size_t at = 0;
    if (!goes(next_character(text, at))) break;
    text.remove_prefix(at);
  }
  while (has(sides, Sides::right) && !text.empty()) {
    std::size_t end = text.size();
    if (!goes(previous_character(text, end))) break;
    text = text.substr(0, end);
  }
  return text;
}

Value replace(Runtime& rt, const Text& text, std::string_view old_part, std::string_view new_part, Int count) {
  rt.step_over(text.utf8.size());
  Writer out(rt);
  std::string_view rest = text.utf8;
  for (bool begin = true; count != 0 && (begin || !rest.empty()); begin = false, --count) {
    if (old_part.empty()) {  // before every character and at the end
      if (!begin) {
        const std::size_t size = utf8_length(rest.front());
        out.put(rest.substr(0, size));
        rest.remove_prefix(size);
      }
      out.put(new_part);
      continue;
    }
    const std::size_t at = rest.find(old_part);
    if (at == std::string_view::npos) break;
    out.put(rest.substr(0, at));
    out.put(new_part);
    rest.remove_prefix(at + old_part.size());
  }
  out.put(rest);
  return out.value();
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const char32_t c = next_character(text, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

Value pad(Runtime& rt, const Text& text, Int width, std::string_view fill, Sides where) {
  const Int missing = std::clamp<Int>(width - static_cast<Int>(text.length), 0, Int{1} << 62);
  // Of an odd number, str.center puts the extra one on the left when the width is odd too.
  const Int left = where == Sides::both ? missing / 2 + (missing & width & 1) : where == Sides::left ? missing : Int{0};
  Writer out(rt);
  out.fill(static_cast<std::size_t>(left), fill);
  out.put(text.utf8);
  out.fill(static_cast<std::size_t>(missing - left), fill);
  return out.value(text.markup);
}

std::span<const Builtin> text_methods() { return kMethods; }

}  // namespace conclave::jinja
