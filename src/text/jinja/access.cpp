#include "text/jinja/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja/objects.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

// The sandbox of transformers lets nothing be changed in place.
constexpr std::array<std::string_view, 8> kChangesList = {"append", "clear",  "extend",  "insert",
                                                          "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> kChangesDict = {"clear", "pop", "popitem", "setdefault", "update"};

bool changes_value(const Value& value, std::string_view name) {
  const auto among = [&](const auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (value.is(Kind::mapping)) return among(kChangesDict);
  return value.is(Kind::sequence) && value.sequence().type == SequenceType::list && among(kChangesList);
}

bool is_special_name(std::string_view name) { return name.size() > 4 && name.starts_with("__") && name.ends_with("__"); }

std::string described(const Value& value) {
  if (value.is(Kind::none)) return "None";
  return type_name(value) + " object";
}

Value no_attribute(Runtime& rt, const Value& value, std::string_view name) {
  return rt.missing(fmt::format("{} has no attribute {}", quoted(described(value)), quoted(name)));
}

Value unsafe_attribute(Runtime& rt, const Value& value, std::string_view name) {
  return rt.missing(fmt::format("access to attribute {} of {} object is unsafe.", quoted(name), quoted(type_name(value))));
}

const Builtin* find_method(const Value& value, std::string_view name) {
  if (!value.is(Kind::text)) return find_builtin(container_methods(value), name);
  const Builtin* method = find_builtin(text_methods(), name);
  return method != nullptr ? method : find_builtin(search_methods(), name);
}

std::optional<Value> group_attribute(const Value& value, std::string_view name) {
  if (!value.is(Kind::sequence) || value.sequence().type != SequenceType::group) return std::nullopt;
  if (name == "grouper") return value.sequence().items[0];
  if (name == "list") return value.sequence().items[1];
  return std::nullopt;
}

std::optional<Value> find_item(Runtime& rt, const Value& value, const Value& key) {
  if (value.is(Kind::mapping)) {
    if (key.is(Kind::mapping) || (key.is(Kind::sequence) && !key.sequence().is_tuple())) return std::nullopt;  // not hashable
    const Value* found = value.mapping().find(rt, key);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  if (value.is(Kind::object)) return value.object().item(rt, key);
  if (!key.is_whole()) return std::nullopt;
  const bool text = value.is(Kind::text);
  if (!text && (!value.is(Kind::sequence) || value.sequence().is_view())) return std::nullopt;
  const Int size = static_cast<Int>(text ? value.text().length : value.sequence().items.size());
  const Int i = key.whole() < 0 ? key.whole() + size : key.whole();
  if (i < 0 || i >= size) return std::nullopt;
  const auto at = static_cast<std::size_t>(i);
  return text ? character_at(rt, value.text(), at) : value.sequence().items[at];
}

Next iterate_text(Runtime& rt, const Value& value) {
  return [&rt, value, at = std::size_t{0}]() mutable -> std::optional<Value> {
    const Text& text = value.text();
    if (at == text.utf8.size()) return std::nullopt;
    const std::size_t begin = at;
    at += utf8_length(text.utf8[at]);
    return rt.text(text.utf8.substr(begin, at - begin));
  };
}

template <class ItemAt>
Next iterate_indexed(Runtime& rt, std::size_t size, ItemAt item_at) {
  return [&rt, size, item_at, i = std::size_t{0}]() mutable -> std::optional<Value> {
    rt.step();
    return i < size ? std::optional<Value>(item_at(i++)) : std::nullopt;
  };
}

// Where Python's slice.indices puts a bound.
Int clamp_bound(Int bound, Int size, Int lowest, Int highest) {
  if (bound < 0) bound += size;
  return std::clamp(bound, lowest, highest);
}

}  // namespace

bool truth(Runtime& rt, const Value& value) {
  switch (value.kind()) {
    case Kind::none:
    case Kind::missing: return false;
    case Kind::boolean: return value.boolean();
    case Kind::integer: return value.integer() != 0;
    case Kind::real: return value.real() != 0;
    case Kind::text: return !value.text().utf8.empty();
    case Kind::sequence: return !value.sequence().items.empty();
    case Kind::mapping: return !value.mapping().entries.empty();
    case Kind::object: return value.object().length(rt).value_or(1) != 0;
  }
  return false;
}

std::optional<std::size_t> length(Runtime& rt, const Value& value) {
  switch (value.kind()) {
    case Kind::missing: return 0;
    case Kind::text: return value.text().length;
    case Kind::sequence: return value.sequence().items.size();
    case Kind::mapping: return value.mapping().entries.size();
    case Kind::object: return value.object().length(rt);
    default: return std::nullopt;
  }
}

Next iterate(Runtime& rt, const Value& value) {
  switch (value.kind()) {
    case Kind::missing: return [] { return std::optional<Value>(); };
    case Kind::text: return iterate_text(rt, value);
    case Kind::sequence:
      return iterate_indexed(rt, value.sequence().items.size(), [value](std::size_t i) { return value.sequence().items[i]; });
    case Kind::mapping:
      return iterate_indexed(rt, value.mapping().entries.size(),
                             [value](std::size_t i) { return value.mapping().entries[i].first; });
    case Kind::object: return value.object().iterate(rt, value);
    default: return nullptr;
  }
}

Next iterate_or_fail(Runtime& rt, const Value& value) {
  Next next = iterate(rt, value);
  if (!next) rt.fail(fmt::format("'{}' object is not iterable", type_name(value)));
  return next;
}

Values to_values(Runtime& rt, const Value& value) {
  Values out;
  const Next next = iterate_or_fail(rt, value);
  while (auto item = next()) {
    rt.afford(sizeof(Value) * (out.size() + 1));
    out.push_back(std::move(*item));
  }
  return out;
}

std::optional<Value> find_attribute(Runtime& rt, const Value& value, std::string_view name) {
  if (value.is(Kind::missing)) rt.fail(value.missing().words);
  if (value.is(Kind::object)) {
    if (auto found = value.object().attribute(rt, value, name)) return found;
  } else if (const Builtin* method = find_method(value, name)) {
    return Value(std::shared_ptr<Object>(rt.object<Function>(
        "builtin_function_or_method",
        [value, method](Runtime& runtime, const Args& args) { return (*method)(runtime, value, args); }, value.depth() + 1)));
  } else if (changes_value(value, name)) {
    return unsafe_attribute(rt, value, name);
  } else if (auto found = group_attribute(value, name)) {
    return found;
  }
  if (is_special_name(name)) return unsafe_attribute(rt, value, name);
  return std::nullopt;
}

Value get_attribute(Runtime& rt, const Value& value, std::string_view name) {
  if (auto found = find_attribute(rt, value, name)) return *std::move(found);
  if (value.is(Kind::mapping)) {
    if (const Value* found = value.mapping().find(name)) return *found;
  }
  return no_attribute(rt, value, name);
}

Value get_item(Runtime& rt, const Value& value, const Value& key) {
  if (value.is(Kind::missing)) rt.fail(value.missing().words);
  if (auto found = find_item(rt, value, key)) return *std::move(found);
  if (key.is(Kind::text)) {
    if (auto found = find_attribute(rt, value, key.text().utf8)) return *std::move(found);
    return no_attribute(rt, value, key.text().utf8);
  }
  Writer shown(rt);
  write_repr(shown, rt, key);
  return rt.missing(fmt::format("{} has no element {}", described(value), std::string_view(shown.text()).substr(0, 200)));
}

Value slice(Runtime& rt, const Value& value, const Value& start, const Value& stop, const Value& step) {
  if (value.is(Kind::missing)) rt.fail(value.missing().words);
  const bool text = value.is(Kind::text);
  const auto is_bound = [](const Value& v) { return v.is(Kind::none) || v.is_whole(); };
  const bool whole = is_bound(start) && is_bound(stop) && is_bound(step);
  const bool range = value.is(Kind::object) && type_name(value) == "range";
  if (!(text || range || (value.is(Kind::sequence) && !value.sequence().is_view()))) {
    rt.fail(fmt::format("'{}' object is not subscriptable by a slice", type_name(value)));
  }
  if (!whole) rt.fail("slice indices must be integers or None");
  const Value source = range ? rt.list(to_values(rt, value)) : value;
  const Int size = static_cast<Int>(text ? source.text().length : source.sequence().items.size());
  const Int by = step.is(Kind::none) ? Int{1} : step.whole();
  if (by == 0) rt.fail("slice step cannot be zero");
  const Int lowest = by > 0 ? Int{0} : Int{-1}, highest = by > 0 ? size : size - 1;
  const Int from = start.is(Kind::none) ? (by > 0 ? lowest : highest) : clamp_bound(start.whole(), size, lowest, highest);
  const Int to = stop.is(Kind::none) ? (by > 0 ? highest : lowest) : clamp_bound(stop.whole(), size, lowest, highest);
  if (text && by == 1) {
    rt.step_over(source.text().utf8.size());
    const std::size_t begin = byte_of(source.text(), static_cast<std::size_t>(from));
    const std::size_t end = byte_of(source.text(), static_cast<std::size_t>(std::max(from, to)));
    return rt.text(source.text().utf8.substr(begin, end - begin), source.text().markup);
  }
  const Values items = text ? to_values(rt, source) : source.sequence().items;
  Values chosen;
  for (Int i = from; by > 0 ? i < to : i > to; i += std::clamp(by, -size - 1, size + 1))
    chosen.push_back(items[static_cast<std::size_t>(i)]);
  if (!text) return rt.sequence(source.sequence().is_tuple() ? SequenceType::tuple : SequenceType::list, std::move(chosen));
  Writer out(rt);
  for (const Value& character : chosen) out.put(character.text().utf8);
  return out.value(source.text().markup);
}

Value call(Runtime& rt, const Value& callee, const Args& args) {
  if (callee.is(Kind::missing)) rt.fail(callee.missing().words);
  if (!callee.is(Kind::object) || !callee.object().callable())
    rt.fail(fmt::format("'{}' object is not callable", type_name(callee)));
  const Level level(rt);
  return callee.object().call(rt, args);
}

Value character_at(Runtime& rt, const Text& text, std::size_t index) {
  rt.step_over(text.ascii() ? 0 : index);
  const std::size_t begin = byte_of(text, index);
  return rt.text(text.utf8.substr(begin, utf8_length(text.utf8[begin])), text.markup);
}

}  // namespace conclave::jinja
