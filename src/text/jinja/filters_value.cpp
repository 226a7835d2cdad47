// Filters about single values: numbers, defaults, JSON, attributes.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja/access.h"
#include "text/jinja/builtin.h"
#include "text/jinja/json_text.h"
#include "text/jinja/methods_text.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace conclave::jinja {
namespace {

Value absolute(Runtime& rt, const Value& self, const Given&) {
  if (self.is(Kind::missing)) rt.fail(self.missing().words);
  if (!self.is_number()) rt.fail("bad operand type for abs(): '" + type_name(self) + "'");
  if (!self.is_whole()) return std::abs(self.real());
  return self.whole() < 0 ? negate(rt, self) : Value(self.whole());
}

Value attribute(Runtime& rt, const Value& self, const Given& given) {
  const std::string name(given.text(0, ""));
  if (auto found = find_attribute(rt, self, name)) return *std::move(found);
  return rt.missing(fmt::format("{} has no attribute {}", quoted(type_name(self) + " object"), quoted(name)));
}

Value default_filter(Runtime& rt, const Value& self, const Given& given) {
  const bool replaced = self.is(Kind::missing) || (given.truth(1, false) && !truth(rt, self));
  return !replaced ? self : given.has(0) ? given[0] : rt.text("");
}

std::optional<Int> whole_of_real(double real) {
  if (!(std::abs(real) < 0x1p126)) return std::nullopt;
  return static_cast<Int>(real);
}

Value int_filter(Runtime& rt, const Value& self, const Given& given) {
  if (self.is(Kind::missing)) rt.fail(self.missing().words);
  const Value otherwise = given.has(0) ? given[0] : Value(Int{0});
  if (self.is_whole()) return self.whole();
  std::optional<Int> found;
  if (self.is(Kind::text)) {
    const std::string_view text = strip(self.text().utf8, std::nullopt, Sides::both);
    found = read_whole(text, given.whole(1, 10));
    if (const auto real = found ? std::nullopt : read_real(text)) found = whole_of_real(*real);
  } else if (self.is(Kind::real)) {
    found = whole_of_real(self.real());
  }
  return found ? Value(*found) : otherwise;
}

Value float_filter(Runtime& rt, const Value& self, const Given& given) {
  if (self.is(Kind::missing)) rt.fail(self.missing().words);
  if (self.is_number()) return self.number();
  if (self.is(Kind::text)) {
    if (const auto real = read_real(strip(self.text().utf8, std::nullopt, Sides::both))) return *real;
  }
  return given.has(0) ? given[0] : Value(0.0);
}

double rounded(Runtime& rt, double value, Int precision, std::string_view method) {
  if (precision < -400 || precision > 400) rt.fail("round: a precision beyond 400 digits");
  const int digits = static_cast<int>(precision);
  if (method != "common") {
    const double scale = std::pow(10.0, digits);
    return (method == "ceil" ? std::ceil(value * scale) : std::floor(value * scale)) / scale;
  }
  if (!std::isfinite(value)) return value;
  if (digits < 0) return std::nearbyint(value / std::pow(10.0, -digits)) * std::pow(10.0, -digits);
  return *read_real(fmt::format("{:.{}f}", value, digits));  // exact digits, halves to even
}

Value round_filter(Runtime& rt, const Value& self, const Given& given) {
  if (self.is(Kind::missing)) rt.fail(self.missing().words);
  const std::string_view method = given.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor") rt.fail("method must be common, ceil or floor");
  if (!self.is_number()) rt.fail("type " + type_name(self) + " doesn't define __round__ method");
  const Int precision = given.whole(0, 0);
  if (self.is_whole() && method == "common" && precision >= 0) return self.whole();
  const double result = rounded(rt, self.number(), precision, method);
  if (!self.is_whole() || method != "common") return result;
  return static_cast<Int>(result);
}

Value string_filter(Runtime& rt, const Value& self, const Given&) { return to_text(rt, self); }

Value tojson(Runtime& rt, const Value& self, const Given& given) {
  JsonStyle style;
  style.ensure_ascii = given.truth(0, false);
  style.sort_keys = given.truth(3, false);
  if (!given.is_none(1)) {
    Writer indent(rt);
    if (given[1].is(Kind::text)) {
      indent.put(given[1].text().utf8);
    } else {
      const Int width = given.whole(1, 0);
      indent.fill(width < 0 ? 0 : static_cast<std::size_t>(std::min<Int>(width, Int{1} << 62)), " ");
    }
    style.indent = indent.text();
    style.item_separator = ",";
  }
  if (!given.is_none(2)) {
    const Values separators = to_values(rt, given[2]);
    if (separators.size() != 2 || !separators[0].is(Kind::text) || !separators[1].is(Kind::text)) {
      rt.fail("tojson: separators wants two texts, (item, key)");
    }
    style.item_separator = separators[0].text().utf8;
    style.key_separator = separators[1].text().utf8;
  }
  return json_text(rt, self, style);
}

constexpr std::array kFilters = {
    Builtin{"abs", "", 0, absolute},
    Builtin{"attr", "name", 1, attribute},
    Builtin{"d", "default_value boolean", 0, default_filter},
    Builtin{"default", "default_value boolean", 0, default_filter},
    Builtin{"float", "default", 0, float_filter},
    Builtin{"int", "default base", 0, int_filter},
    Builtin{"round", "precision method", 0, round_filter},
    Builtin{"string", "", 0, string_filter},
    Builtin{"tojson", "ensure_ascii indent separators sort_keys", 0, tojson},
};

}  // namespace

std::span<const Builtin> value_filters() { return kFilters; }

}  // namespace conclave::jinja
