// str's methods that look for parts of a text and take it apart. Places are counted in characters.
#include <algorithm>

#include "text/jinja/access.h"
#include "text/jinja/builtin.h"
#include "text/jinja/methods_text.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

// The part text[start:end] that find, count and startswith look at: arguments 1 and 2.
struct Window {
  std::string_view part;
  std::size_t first = 0;  // character at which it begins
  bool exists = true;     // false where start lies beyond the end
};

std::size_t clamp_place(Int place, std::size_t size) {
  const Int length = static_cast<Int>(size);
  return static_cast<std::size_t>(std::clamp<Int>(place < 0 ? place + length : place, 0, length));
}

Window window(const Text& text, const Given& given) {
  const Int start = given.is_none(1) ? Int{0} : given.whole(1, 0);
  const Int end = given.is_none(2) ? static_cast<Int>(text.length) : given.whole(2, 0);
  const std::size_t from = clamp_place(start, text.length), to = clamp_place(end, text.length);
  if (start > static_cast<Int>(text.length) || from > to) return {{}, from, false};
  const std::size_t begin = byte_of(text, from);
  return {std::string_view(text.utf8).substr(begin, byte_of(text, to) - begin), from, true};
}

template <bool kFromRight>
Int find_part(const Value& self, const Given& given) {
  const Window where = window(self.text(), given);
  const std::string_view part = given.text(0, "");
  if (!where.exists) return -1;
  const std::size_t at = kFromRight ? where.part.rfind(part) : where.part.find(part);
  if (at == std::string_view::npos) return -1;
  return static_cast<Int>(where.first + count_characters(where.part.substr(0, at)));
}

template <bool kFromRight>
Value find(Runtime&, const Value& self, const Given& given) {
  return find_part<kFromRight>(self, given);
}

template <bool kFromRight>
Value index(Runtime& rt, const Value& self, const Given& given) {
  const Int at = find_part<kFromRight>(self, given);
  if (at < 0) rt.fail("substring not found");
  return at;
}

Value count(Runtime&, const Value& self, const Given& given) {
  const Window where = window(self.text(), given);
  const std::string_view part = given.text(0, "");
  if (!where.exists) return Int{0};
  if (part.empty()) return static_cast<Int>(count_characters(where.part) + 1);
  Int found = 0;
  for (std::size_t at = 0; (at = where.part.find(part, at)) != std::string_view::npos; at += part.size()) ++found;
  return found;
}

template <bool kAtEnd>
Value begins_or_ends(Runtime& rt, const Value& self, const Given& given) {
  const Window where = window(self.text(), given);
  const auto holds = [&](const Value& part) {
    if (!part.is(Kind::text)) rt.fail("startswith and endswith take a str or a tuple of str, not " + type_name(part));
    return where.exists && (kAtEnd ? where.part.ends_with(part.text().utf8) : where.part.starts_with(part.text().utf8));
  };
  if (!given[0].is(Kind::sequence) || !given[0].sequence().is_tuple()) return holds(given[0]);
  const Values& parts = given[0].sequence().items;
  return std::any_of(parts.begin(), parts.end(), holds);
}

using Parts = std::vector<std::string_view>;

// At white space: runs of it separate, and none at the ends leaves an empty part. What is left after `most` cuts stays as it is.
Parts split_at_space(std::string_view text, Int most) {
  Parts parts;
  for (text = skip_space(text); !text.empty(); text = skip_space(text)) {
    std::size_t end = text.size();
    if (most-- == 0) {
      parts.push_back(text);
      break;
    }
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      if (!is_space(next_character(text, at))) continue;
      end = begin;
      break;
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

Parts split_at_space_from_right(std::string_view text, Int most) {
  Parts parts;
  for (text = drop_trailing_space(text); !text.empty(); text = drop_trailing_space(text)) {
    if (most-- == 0) {
      parts.push_back(text);
      break;
    }
    std::size_t begin = text.size();
    while (begin > 0) {
      std::size_t before = begin;
      if (is_space(previous_character(text, before))) break;
      begin = before;
    }
    parts.push_back(text.substr(begin));
    text = text.substr(0, begin);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Parts split_at(std::string_view text, std::string_view separator, Int most) {
  Parts parts;
  for (; most != 0; --most) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

Parts split_at_from_right(std::string_view text, std::string_view separator, Int most) {
  Parts parts;
  for (; most != 0; --most) {
    const std::size_t at = text.rfind(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Values as_values(Runtime& rt, const Parts& parts, bool markup) {
  Values values;
  for (const std::string_view part : parts) values.push_back(rt.text(std::string(part), markup));
  return values;
}

template <bool kFromRight>
Value split(Runtime& rt, const Value& self, const Given& given) {
  const std::string_view text = self.text().utf8;
  const Int most = given.whole(1, -1);
  rt.afford(text.size() * sizeof(std::string_view));  // as many parts as characters
  if (given.is_none(0)) {
    return rt.list(
        as_values(rt, kFromRight ? split_at_space_from_right(text, most) : split_at_space(text, most), self.text().markup));
  }
  const std::string_view separator = given.text(0, "");
  if (separator.empty()) rt.fail("empty separator");
  return rt.list(
      as_values(rt, kFromRight ? split_at_from_right(text, separator, most) : split_at(text, separator, most), self.text().markup));
}

template <bool kFromRight>
Value partition(Runtime& rt, const Value& self, const Given& given) {
  const std::string_view text = self.text().utf8, separator = given.text(0, "");
  if (separator.empty()) rt.fail("empty separator");
  const std::size_t at = kFromRight ? text.rfind(separator) : text.find(separator);
  Parts parts = {text.substr(0, at), separator, at == std::string_view::npos ? text : text.substr(at + separator.size())};
  if (at == std::string_view::npos) parts = kFromRight ? Parts{"", "", text} : Parts{text, "", ""};
  return rt.tuple(as_values(rt, parts, self.text().markup));
}

Value split_lines_method(Runtime& rt, const Value& self, const Given& given) {
  rt.afford(self.text().utf8.size() * sizeof(std::string_view));
  return rt.list(as_values(rt, split_lines(self.text().utf8, given.truth(0, false)), self.text().markup));
}

constexpr std::array kMethods = {
    Builtin{"count", "sub start end", 1, count},
    Builtin{"endswith", "suffix start end", 1, begins_or_ends<true>},
    Builtin{"find", "sub start end", 1, find<false>},
    Builtin{"index", "sub start end", 1, index<false>},
    Builtin{"partition", "sep", 1, partition<false>},
    Builtin{"rfind", "sub start end", 1, find<true>},
    Builtin{"rindex", "sub start end", 1, index<true>},
    Builtin{"rpartition", "sep", 1, partition<true>},
    Builtin{"rsplit", "sep maxsplit", 0, split<true>},
    Builtin{"split", "sep maxsplit", 0, split<false>},
    Builtin{"splitlines", "keepends", 0, split_lines_method},
    Builtin{"startswith", "prefix start end", 1, begins_or_ends<false>},
};

}  // namespace

std::span<const Builtin> search_methods() { return kMethods; }

}  // namespace conclave::jinja
