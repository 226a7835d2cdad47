#include "text/jinja/show.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

void write_character_repr(std::string& out, char32_t c, char quote) {
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\\': out += "\\\\"; return;
    default: break;
  }
  if (c == static_cast<unsigned char>(quote)) {
    out += '\\', out += quote;
  } else if (is_printable(c)) {
    append_character(out, c);
  } else {
    const auto number = static_cast<std::uint32_t>(c);
    out += c < 0x100     ? fmt::format("\\x{:02x}", number)
           : c < 0x10000 ? fmt::format("\\u{:04x}", number)
                         : fmt::format("\\U{:08x}", number);
  }
}

void append_text_repr(std::string& out, std::string_view text) {
  const bool double_quotes = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  out += quote;
  for (std::size_t at = 0; at < text.size();) write_character_repr(out, next_character(text, at), quote);
  out += quote;
}

void write_text_repr(Writer& out, const Text& text) {
  constexpr std::size_t kPiece = 4096;
  const bool double_quotes = text.utf8.find('\'') != std::string::npos && text.utf8.find('"') == std::string::npos;
  const char quote = double_quotes ? '"' : '\'';
  if (text.markup) out.put("Markup(");
  out.put(quote);
  std::string piece;
  for (std::size_t at = 0; at < text.utf8.size();) {
    write_character_repr(piece, next_character(text.utf8, at), quote);
    if (piece.size() < kPiece) continue;
    out.put(piece);
    piece.clear();
  }
  out.put(piece);
  out.put(quote);
  if (text.markup) out.put(')');
}

void write_items(Writer& out, Runtime& rt, const Values& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.put(", ");
    write_repr(out, rt, items[i]);
  }
}

void write_sequence(Writer& out, Runtime& rt, const Sequence& sequence) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kBrackets = {
      {{"[", "]"}, {"(", ")"}, {"(", ")"}, {"dict_keys([", "])"}, {"dict_values([", "])"}, {"dict_items([", "])"}}};
  const auto& [open, close] = kBrackets[static_cast<std::size_t>(sequence.type)];
  out.put(open);
  write_items(out, rt, sequence.items);
  if (sequence.is_tuple() && sequence.items.size() == 1) out.put(',');
  out.put(close);
}

void write_mapping(Writer& out, Runtime& rt, const Mapping& mapping) {
  out.put('{');
  bool first = true;
  for (const auto& [key, value] : mapping.entries) {
    if (!first) out.put(", ");
    first = false;
    write_repr(out, rt, key);
    out.put(": ");
    write_repr(out, rt, value);
  }
  out.put('}');
}

}  // namespace

std::string type_name(const Value& value) {
  static constexpr std::array<const char*, 6> kSequences = {"list", "tuple", "tuple", "dict_keys", "dict_values", "dict_items"};
  switch (value.kind()) {
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::text: return value.text().markup ? "Markup" : "str";
    case Kind::sequence: return kSequences[static_cast<std::size_t>(value.sequence().type)];
    case Kind::mapping: return "dict";
    case Kind::object: return value.object().type_name();
    case Kind::missing: return "Undefined";
  }
  return "object";
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::size_t end = std::min(text.size(), kMost);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  std::string out;
  append_text_repr(out, text.substr(0, end));
  if (end < text.size()) out += "...";
  return out;
}

std::string whole_text(Int whole) { return fmt::format("{}", whole); }

std::string real_text(double real) {
  if (std::isnan(real)) return "nan";
  if (std::isinf(real)) return real < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), real, std::chars_format::scientific).ptr;
  std::string_view shown(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  std::string sign;
  if (shown.front() == '-') sign = "-", shown.remove_prefix(1);
  const std::size_t e = shown.find('e');
  int exponent = 0;
  const std::size_t digits_of_exponent = shown[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(shown.data() + digits_of_exponent, shown.data() + shown.size(), exponent);
  std::string digits(shown.substr(0, 1));
  if (e > 2) digits += shown.substr(2, e - 2);
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    if (count > 1) digits.insert(1, ".");
    return sign + digits + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  return sign + digits.insert(static_cast<std::size_t>(exponent) + 1, ".");
}

void write_repr(Writer& out, Runtime& rt, const Value& value) {
  const Level level(rt);
  switch (value.kind()) {
    case Kind::text: return write_text_repr(out, value.text());
    case Kind::missing: return out.put("Undefined");
    default: return write_text(out, rt, value);
  }
}

void write_text(Writer& out, Runtime& rt, const Value& value) {
  rt.step();
  switch (value.kind()) {
    case Kind::none: return out.put("None");
    case Kind::boolean: return out.put(value.boolean() ? "True" : "False");
    case Kind::integer: return out.put(whole_text(value.integer()));
    case Kind::real: return out.put(real_text(value.real()));
    case Kind::text: return out.put(value.text().utf8);
    case Kind::sequence: return write_sequence(out, rt, value.sequence());
    case Kind::mapping: return write_mapping(out, rt, value.mapping());
    case Kind::object: return out.put(value.object().repr(rt));
    case Kind::missing: return;
  }
}

Value to_text(Runtime& rt, const Value& value) {
  if (value.is(Kind::text)) return value;
  Writer out(rt);
  write_text(out, rt, value);
  return out.value();
}

Value to_plain(Runtime& rt, const Value& value) {
  if (value.is(Kind::text) && value.text().markup) return rt.text(value.text().utf8);
  return to_text(rt, value);
}

}  // namespace conclave::jinja
