#include "text/jinja/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/access.h"
#include "text/jinja/runtime.h"
#include "text/jinja/show.h"

namespace conclave::jinja {
namespace {

bool whole_equals_real(Int whole, double real) {
  return real == std::trunc(real) && std::abs(real) < 0x1p126 && static_cast<Int>(real) == whole;
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole()) return a.whole() == b.whole();
  if (a.is_whole()) return whole_equals_real(a.whole(), b.real());
  if (b.is_whole()) return whole_equals_real(b.whole(), a.real());
  return a.real() == b.real();
}

bool equal_sequences(Runtime& rt, const Sequence& a, const Sequence& b) {
  if (a.is_view() || b.is_view() || a.is_tuple() != b.is_tuple() || a.items.size() != b.items.size()) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                    [&](const Value& x, const Value& y) { return equal(rt, x, y); });
}

bool equal_mappings(Runtime& rt, const Mapping& a, const Mapping& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const Entry& entry) {
    const Value* other = b.find(rt, entry.first);
    return other != nullptr && equal(rt, entry.second, *other);
  });
}

bool less_sequences(Runtime& rt, const Sequence& a, const Sequence& b) {
  const std::size_t shared = std::min(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (!equal(rt, a.items[i], b.items[i])) return less(rt, a.items[i], b.items[i]);
  }
  return a.items.size() < b.items.size();
}

}  // namespace

bool equal(Runtime& rt, const Value& a, const Value& b) {
  rt.step();
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::text: rt.step(a.text().utf8.size() / 64); return a.text().utf8 == b.text().utf8;
    case Kind::sequence: return &a.sequence() == &b.sequence() || equal_sequences(rt, a.sequence(), b.sequence());
    case Kind::mapping: return &a.mapping() == &b.mapping() || equal_mappings(rt, a.mapping(), b.mapping());
    case Kind::object: return &a.object() == &b.object();
    default: return true;  // None, and what is missing
  }
}

bool less(Runtime& rt, const Value& a, const Value& b) {
  rt.step();
  for (const Value* side : {&a, &b}) {
    if (side->is(Kind::missing)) rt.fail(side->missing().words);
  }
  if (a.is_number() && b.is_number()) {
    return a.is_whole() && b.is_whole() ? a.whole() < b.whole() : a.number() < b.number();
  }
  if (a.is(Kind::text) && b.is(Kind::text)) {
    rt.step(a.text().utf8.size() / 64);
    return a.text().utf8 < b.text().utf8;  // the order of UTF-8 bytes is that of characters
  }
  if (a.is(Kind::sequence) && b.is(Kind::sequence) && !a.sequence().is_view() && !b.sequence().is_view() &&
      a.sequence().is_tuple() == b.sequence().is_tuple()) {
    return less_sequences(rt, a.sequence(), b.sequence());
  }
  rt.fail(fmt::format("'<' not supported between instances of '{}' and '{}'", type_name(a), type_name(b)));
}

bool contains(Runtime& rt, const Value& container, const Value& item) {
  rt.step();
  if (container.is(Kind::text)) {
    if (!item.is(Kind::text)) rt.fail("'in <string>' requires string as left operand, not " + type_name(item));
    rt.step(container.text().utf8.size() / 64);
    return container.text().utf8.find(item.text().utf8) != std::string::npos;
  }
  if (container.is(Kind::mapping)) return container.mapping().find(rt, item) != nullptr;
  const Next next = iterate(rt, container);
  if (!next) rt.fail(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  while (const auto candidate = next()) {
    if (equal(rt, *candidate, item)) return true;
  }
  return false;
}

std::size_t hash_text(std::string_view text) { return std::hash<std::string_view>{}(text); }

std::size_t hash_value(Runtime& rt, const Value& value) {
  rt.step();
  const auto hash_whole = [](Int whole) { return std::hash<std::uint64_t>{}(static_cast<std::uint64_t>(whole)); };
  switch (value.kind()) {
    case Kind::boolean:
    case Kind::integer: return hash_whole(value.whole());
    case Kind::real: {
      const double real = value.real();
      const bool whole = real == std::trunc(real) && std::abs(real) < 0x1p126;
      return whole ? hash_whole(static_cast<Int>(real)) : std::hash<double>{}(real);
    }
    case Kind::text: rt.step(value.text().utf8.size() / 64); return hash_text(value.text().utf8);
    case Kind::sequence: {
      if (!value.sequence().is_tuple()) break;
      std::size_t hash = 0x9E3779B97F4A7C15u;
      for (const Value& item : value.sequence().items) hash = (hash ^ hash_value(rt, item)) * 0x100000001B3u;
      return hash;
    }
    case Kind::mapping: break;
    case Kind::object: return std::hash<const Object*>{}(&value.object());
    default: return 0;
  }
  rt.fail("unhashable type: " + quoted(type_name(value)));
}

}  // namespace conclave::jinja
