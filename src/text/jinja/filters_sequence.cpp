// Filters that walk over what they are given.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/access.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/selection.h"
#include "text/jinja/show.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

Value length_filter(Runtime& rt, const Value& self, const Given&) {
  const auto size = length(rt, self);
  if (!size) rt.fail(fmt::format("object of type '{}' has no len()", type_name(self)));
  return static_cast<Int>(*size);
}

Value list_filter(Runtime& rt, const Value& self, const Given&) { return rt.list(to_values(rt, self)); }

Value items(Runtime& rt, const Value& self, const Given&) {
  if (self.is(Kind::missing)) return generator(rt, Values{});
  return generator(rt, self, [&rt, self, i = std::size_t{0}]() mutable -> std::optional<Value> {
    if (!self.is(Kind::mapping)) rt.fail("Can only get item pairs from a mapping.");
    const auto& entries = self.mapping().entries;
    if (i == entries.size()) return std::nullopt;
    const auto& [key, value] = entries[i++];
    return rt.tuple({key, value});
  });
}

Value first(Runtime& rt, const Value& self, const Given&) {
  const Next next = iterate_or_fail(rt, self);
  auto item = next();
  return item ? *std::move(item) : rt.missing("No first item, sequence was empty.");
}

Value last(Runtime& rt, const Value& self, const Given&) {
  const auto size = length(rt, self);
  if (!size) rt.fail(fmt::format("'{}' object is not reversible", type_name(self)));
  if (*size == 0) return rt.missing("No last item, sequence was empty.");
  if (self.is(Kind::text)) return character_at(rt, self.text(), *size - 1);
  return self.is(Kind::sequence) ? self.sequence().items.back() : to_values(rt, self).back();
}

Value join(Runtime& rt, const Value& self, const Given& given) {
  const Value separator = given.has(0) ? to_text(rt, given[0]) : rt.text("");
  const Path attribute = given.is_none(1) ? Path() : path_of(rt, given[1]);
  const Next next = iterate_or_fail(rt, self);
  Writer out(rt);
  bool first_item = true;
  while (const auto item = next()) {
    if (!first_item) out.put(separator.text().utf8);
    first_item = false;
    write_text(out, rt, follow(rt, *item, attribute));
  }
  return out.value();
}

Value reverse(Runtime& rt, const Value& self, const Given&) {
  Values all = to_values(rt, self);
  std::reverse(all.begin(), all.end());
  if (!self.is(Kind::text)) return generator(rt, std::move(all));
  Writer out(rt);
  for (const Value& character : all) out.put(character.text().utf8);
  return out.value(self.text().markup);
}

Value sum(Runtime& rt, const Value& self, const Given& given) {
  const Path attribute = given.is_none(0) ? Path() : path_of(rt, given[0]);
  Value total = given.has(1) ? given[1] : Value(Int{0});
  const Next next = iterate_or_fail(rt, self);
  while (const auto item = next()) total = add(rt, total, follow(rt, *item, attribute));
  return total;
}

Value batch(Runtime& rt, const Value& self, const Given& given) {
  const Int size = given.whole(0, 0);
  const Value fill = given.value(1);
  Values batches, row;
  const auto finish = [&] {
    if (!row.empty()) batches.push_back(rt.list(std::exchange(row, {})));
  };
  const Next next = iterate_or_fail(rt, self);
  while (auto item = next()) {
    if (static_cast<Int>(row.size()) == size) finish();
    rt.afford((row.size() + 1) * sizeof(Value));
    row.push_back(std::move(*item));
  }
  while (!row.empty() && !fill.is(Kind::none) && static_cast<Int>(row.size()) < size) {
    rt.afford((row.size() + 1) * sizeof(Value));
    rt.step();
    row.push_back(fill);
  }
  finish();
  return generator(rt, std::move(batches));
}

Value slice_filter(Runtime& rt, const Value& self, const Given& given) {
  const Values all = to_values(rt, self);
  const Int wanted = given.whole(0, 0);
  if (wanted == 0) rt.fail("integer division or modulo by zero");
  if (wanted < 0) return generator(rt, Values{});
  rt.afford(static_cast<std::size_t>(std::min<Int>(wanted, Int{1} << 62)) * sizeof(Value));
  const auto slices = static_cast<std::size_t>(wanted);
  const std::size_t each = all.size() / slices, longer = all.size() % slices;
  Values parts;
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t end = at + each + (i < longer ? 1 : 0);
    Values part(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(end));
    if (!given.is_none(1) && i >= longer) part.push_back(given[1]);
    parts.push_back(rt.list(std::move(part)));
    at = end;
  }
  return generator(rt, std::move(parts));
}

constexpr std::array kFilters = {
    Builtin{"batch", "linecount fill_with", 1, batch},
    Builtin{"count", "", 0, length_filter},
    Builtin{"first", "", 0, first},
    Builtin{"items", "", 0, items},
    Builtin{"join", "d attribute", 0, join},
    Builtin{"last", "", 0, last},
    Builtin{"length", "", 0, length_filter},
    Builtin{"list", "", 0, list_filter},
    Builtin{"reverse", "", 0, reverse},
    Builtin{"slice", "slices fill_with", 1, slice_filter},
    Builtin{"sum", "attribute start", 0, sum},
};

}  // namespace

std::span<const Builtin> sequence_filters() { return kFilters; }

}  // namespace conclave::jinja
