// Filters that make text of text. What is not text is taken as str() shows it.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/access.h"
#include "text/jinja/format.h"
#include "text/jinja/methods_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

template <std::string (*F)(std::string_view)>
Value changed(Runtime& rt, const Value& self, const Given&) {
  const Value text = to_text(rt, self);
  return rt.text(F(text.text().utf8), text.text().markup);
}

Value trim(Runtime& rt, const Value& self, const Given& given) {
  const Value text = to_text(rt, self);
  const auto chars = given.is_none(0) ? std::nullopt : std::optional(given.text(0, ""));
  return rt.text(std::string(strip(text.text().utf8, chars, Sides::both)), text.text().markup);
}

Value center(Runtime& rt, const Value& self, const Given& given) {
  const Value text = to_text(rt, self);
  return pad(rt, text.text(), given.whole(0, 80), " ", Sides::both);
}

Value replace_filter(Runtime& rt, const Value& self, const Given& given) {
  const Value text = to_text(rt, self), old_part = to_text(rt, given[0]), new_part = to_text(rt, given[1]);
  return replace(rt, text.text(), old_part.text().utf8, new_part.text().utf8, given.is_none(2) ? Int{-1} : given.whole(2, -1));
}

// Upper case at the start of each word, where words follow white space or one of -({[<.
Value title_filter(Runtime& rt, const Value& self, const Given&) {
  const Value text = to_text(rt, self);
  const std::string_view all = text.text().utf8;
  Writer out(rt);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t begin = at;
    const char32_t first = next_character(all, at);
    out.put(upper(all.substr(begin, at - begin)));
    const auto separates = [](char32_t c) { return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<'; };
    const bool separator = separates(first);
    const std::size_t rest = at;
    while (at < all.size()) {
      std::size_t next = at;
      if (separates(next_character(all, next)) != separator) break;
      at = next;
    }
    out.put(lower(all.substr(rest, at - rest)));
  }
  return out.value();
}

Value format_filter(Runtime& rt, const Value& self, const Given& given) {
  const Args& all = given.all();
  if (!all.values.empty() && !all.named.empty()) rt.fail("can't handle positional and keyword arguments at the same time");
  std::vector<Entry> named;
  for (const auto& [name, value] : all.named) named.emplace_back(rt.text(name), value);
  return percent_format(rt, to_text(rt, self), named.empty() ? rt.tuple(all.values) : rt.dict(std::move(named)));
}

Value indent(Runtime& rt, const Value& self, const Given& given) {
  if (!self.is(Kind::text)) rt.fail("indent wants a str, found " + type_name(self));
  Writer made(rt);
  if (given.has(0) && given[0].is(Kind::text)) {
    made.put(given[0].text().utf8);
  } else {
    made.fill(static_cast<std::size_t>(std::clamp<Int>(given.whole(0, 4), 0, Int{1} << 62)), " ");
  }
  const std::string& indention = made.text();
  const bool first = given.truth(1, false), blank = given.truth(2, false);
  const std::string text = self.text().utf8 + '\n';  // so that the last line counts as one
  Writer out(rt);
  bool at_first = true;
  for (const std::string_view line : split_lines(text, false)) {
    if (!at_first) out.put('\n');
    if (at_first ? first : blank || !line.empty()) out.put(indention);
    at_first = false;
    out.put(line);
  }
  return out.value(self.text().markup);
}

Value truncate(Runtime& rt, const Value& self, const Given& given) {
  if (!self.is(Kind::text)) rt.fail("truncate wants a str, found " + type_name(self));
  const Int most = given.whole(0, 255), leeway = given.is_none(3) ? Int{5} : given.whole(3, 5);
  const std::string_view end = given.text(2, "...");
  const Int room = most - static_cast<Int>(count_characters(end));
  if (room < 0 || leeway < 0) rt.fail("truncate: the length must be at least that of the ending, and the leeway at least 0");
  const Text& text = self.text();
  if (static_cast<Int>(text.length) <= most + leeway) return self;
  std::string_view kept = std::string_view(text.utf8).substr(0, byte_of(text, static_cast<std::size_t>(room)));
  if (!given.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
  return rt.text(std::string(kept).append(end), text.markup);
}

Value wordcount(Runtime& rt, const Value& self, const Given&) {
  const Value text = to_text(rt, self);
  Int words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.text().utf8.size();) {
    const bool word = is_word(next_character(text.text().utf8, at));
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return words;
}

Value escape_filter(Runtime& rt, const Value& self, const Given&) { return escape(rt, self); }
Value force_escape(Runtime& rt, const Value& self, const Given&) { return escape(rt, to_plain(rt, self)); }

Value safe(Runtime& rt, const Value& self, const Given&) {
  const Value text = to_text(rt, self);
  return text.text().markup ? text : rt.text(text.text().utf8, true);
}

// Entities that escape() makes, and the common named ones.
std::string unescaped(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kEntities = {{{"&lt;", "<"},
                                                                                              {"&gt;", ">"},
                                                                                              {"&#34;", "\""},
                                                                                              {"&#39;", "'"},
                                                                                              {"&quot;", "\""},
                                                                                              {"&apos;", "'"},
                                                                                              {"&nbsp;", "\xC2\xA0"},
                                                                                              {"&raquo;", "\xC2\xBB"},
                                                                                              {"&amp;", "&"}}};
  std::string out;
  while (!text.empty()) {
    const auto at =
        std::find_if(kEntities.begin(), kEntities.end(), [&](const auto& entity) { return text.starts_with(entity.first); });
    out += at != kEntities.end() ? at->second : text.substr(0, 1);
    text.remove_prefix(at != kEntities.end() ? at->first.size() : 1);
  }
  return out;
}

Value striptags(Runtime& rt, const Value& self, const Given&) {
  const Value text = to_text(rt, self);
  std::string_view rest = text.text().utf8;
  std::string kept;
  while (true) {
    const std::size_t start = rest.find('<');
    if (start == std::string_view::npos) break;
    const bool comment = rest.substr(start).starts_with("<!--");
    const std::size_t end = comment ? rest.find("-->", start + 4) : rest.find('>', start);
    if (end == std::string_view::npos) break;
    kept += rest.substr(0, start);
    rest.remove_prefix(end + (comment ? 3 : 1));
  }
  kept += rest;
  std::string spaced;
  for (std::string_view words = skip_space(kept); !words.empty(); words = skip_space(words)) {
    std::size_t end = 0;
    for (std::size_t at = 0; at < words.size() && !is_space(next_character(words, at)); end = at) {
    }
    if (!spaced.empty()) spaced += ' ';
    spaced += words.substr(0, end);
    words.remove_prefix(end);
  }
  return rt.text(unescaped(spaced));
}

void quote_url(Writer& out, std::string_view text, bool in_query) {
  const std::string_view kept = in_query ? "_.-~" : "_.-~/";
  for (const char c : text) {
    if (in_query && c == ' ') {
      out.put('+');
      continue;
    }
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kept.find(c) != std::string_view::npos;
    plain ? out.put(c) : out.put(fmt::format("%{:02X}", static_cast<unsigned char>(c)));
  }
}

Value urlencode(Runtime& rt, const Value& self, const Given&) {
  Writer out(rt);
  const Next next = self.is(Kind::text) ? Next() : iterate(rt, self);
  if (!next) {
    quote_url(out, to_text(rt, self).text().utf8, false);
    return out.value();
  }
  bool first = true;
  while (const auto item = next()) {  // a mapping, or pairs
    const Values pair = self.is(Kind::mapping) ? Values{*item, get_item(rt, self, *item)} : to_values(rt, *item);
    if (pair.size() != 2) rt.fail("urlencode wants pairs");
    if (!first) out.put('&');
    first = false;
    quote_url(out, to_text(rt, pair[0]).text().utf8, true);
    out.put('=');
    quote_url(out, to_text(rt, pair[1]).text().utf8, true);
  }
  return out.value();
}

constexpr std::array kFilters = {
    Builtin{"capitalize", "", 0, changed<capitalize>},
    Builtin{"center", "width", 0, center},
    Builtin{"e", "", 0, escape_filter},
    Builtin{"escape", "", 0, escape_filter},
    Builtin{"forceescape", "", 0, force_escape},
    Builtin{"format", "*", 0, format_filter},
    Builtin{"indent", "width first blank", 0, indent},
    Builtin{"lower", "", 0, changed<lower>},
    Builtin{"replace", "old new count", 2, replace_filter},
    Builtin{"safe", "", 0, safe},
    Builtin{"striptags", "", 0, striptags},
    Builtin{"title", "", 0, title_filter},
    Builtin{"trim", "chars", 0, trim},
    Builtin{"truncate", "length killwords end leeway", 0, truncate},
    Builtin{"upper", "", 0, changed<upper>},
    Builtin{"urlencode", "", 0, urlencode},
    Builtin{"wordcount", "", 0, wordcount},
};

}  // namespace

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace conclave::jinja
