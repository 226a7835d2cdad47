// Filters that choose, order and look into the items of a sequence.
#include "text/jinja/selection.h"

#include <algorithm>

#include "text/jinja/access.h"
#include "text/jinja/compare.h"
#include "text/jinja/number_text.h"
#include "text/jinja/objects.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"

namespace conclave::jinja {
namespace {

// Lower case unless case counts: what jinja compares texts by.
Value folded(Runtime& rt, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is(Kind::text)) return value;
  return rt.text(lower(value.text().utf8));
}

Args rest_of(const Args& args, std::size_t skipped) {
  Args rest;
  rest.values.assign(args.values.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, args.values.size())), args.values.end());
  rest.named = args.named;
  return rest;
}

std::string name_at(Runtime& rt, const Args& args, std::size_t i) {
  if (!args.values[i].is(Kind::text)) rt.fail("expected the name of a filter or test, found " + type_name(args.values[i]));
  return args.values[i].text().utf8;
}

// Jinja asks first whether there is anything: None and 0 are as good as an empty list.
Next walk(Runtime& rt, const Value& value) {
  if (!truth(rt, value)) return [] { return std::optional<Value>(); };
  return iterate_or_fail(rt, value);
}

Value map_filter(Runtime& rt, const Value& self, const Given& given) {
  const Args& args = given.all();
  const Value* attribute = args.values.empty() ? args.find("attribute") : nullptr;
  const Next next = walk(rt, self);
  if (attribute != nullptr) {
    const Value* otherwise = args.find("default");
    if (args.named.size() > (otherwise != nullptr ? 2u : 1u)) rt.fail("map got an unexpected keyword argument");
    return generator(rt, self, [&rt, next, path = path_of(rt, *attribute), fallback = otherwise != nullptr ? *otherwise : Value()] {
      auto item = next();
      return item ? std::optional(follow(rt, *item, path, fallback.is(Kind::none) ? nullptr : &fallback)) : std::nullopt;
    });
  }
  if (args.values.empty()) rt.fail("map requires a filter argument");
  return generator(rt, self, [&rt, next, name = name_at(rt, args, 0), rest = rest_of(args, 1)] {
    const auto item = next();
    return item ? std::optional(apply_filter(rt, name, *item, rest)) : std::nullopt;
  });
}

// select, reject (by the item) and selectattr, rejectattr (by an attribute of it).
template <bool kWanted, bool kByAttribute>
Value select(Runtime& rt, const Value& self, const Given& given) {
  const Args& args = given.all();
  constexpr std::size_t kSkipped = kByAttribute ? 1 : 0;
  if (args.values.size() < kSkipped) rt.fail("Missing parameter for attribute name");
  const Path path = kByAttribute ? path_of(rt, args.values[0]) : Path();
  const bool by_test = args.values.size() > kSkipped;
  const std::string test = by_test ? name_at(rt, args, kSkipped) : std::string();
  return generator(rt, self, [&rt, next = walk(rt, self), path, by_test, test, rest = rest_of(args, kSkipped + 1)] {
    while (auto item = next()) {
      const Value looked_at = follow(rt, *item, path);
      if ((by_test ? apply_test(rt, test, looked_at, rest) : truth(rt, looked_at)) == kWanted) return item;
    }
    return std::optional<Value>();
  });
}

struct Keyed {
  Value key, item;
};

void sort_keyed(Runtime& rt, std::vector<Keyed>& all, bool reversed) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const Keyed& a, const Keyed& b) { return reversed ? less(rt, b.key, a.key) : less(rt, a.key, b.key); });
}

Values items_of(const std::vector<Keyed>& all) {
  Values items;
  for (const Keyed& one : all) items.push_back(one.item);
  return items;
}

// Keys by several attributes: "role,content".
Value sort(Runtime& rt, const Value& self, const Given& given) {
  const bool case_sensitive = given.truth(1, false);
  std::vector<Path> paths;
  if (given.is_none(2)) {
    paths.emplace_back();
  } else if (!given[2].is(Kind::text)) {
    paths.push_back(path_of(rt, given[2]));
  } else {
    for (std::string_view names = given[2].text().utf8;; names.remove_prefix(names.find(',') + 1)) {
      paths.push_back(path_of(rt, rt.text(std::string(names.substr(0, names.find(','))))));
      if (names.find(',') == std::string_view::npos) break;
    }
  }
  std::vector<Keyed> all;
  for (Value& item : to_values(rt, self)) {
    Values keys;
    for (const Path& path : paths) keys.push_back(folded(rt, follow(rt, item, path), case_sensitive));
    all.push_back({rt.list(std::move(keys)), std::move(item)});
  }
  sort_keyed(rt, all, given.truth(0, false));
  return rt.list(items_of(all));
}

Value dictsort(Runtime& rt, const Value& self, const Given& given) {
  if (!self.is(Kind::mapping)) rt.fail("dictsort wants a mapping, found " + type_name(self));
  const std::string_view by = given.text(1, "key");
  if (by != "key" && by != "value") rt.fail("You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> all;
  for (const auto& [key, value] : self.mapping().entries) {
    all.push_back({folded(rt, by == "key" ? key : value, given.truth(0, false)), rt.tuple({key, value})});
  }
  sort_keyed(rt, all, given.truth(2, false));
  return rt.list(items_of(all));
}

Value unique(Runtime& rt, const Value& self, const Given& given) {
  const bool case_sensitive = given.truth(0, false);
  const Path path = given.is_none(1) ? Path() : path_of(rt, given[1]);
  Values chosen;
  std::vector<Entry> keys;
  for (Value& item : to_values(rt, self)) {
    keys.emplace_back(folded(rt, follow(rt, item, path), case_sensitive), Value());
    chosen.push_back(std::move(item));
  }
  // The mapping holds each key once, in the order of first places: walking along finds these.
  const Value distinct = rt.dict(keys);
  Values out;
  std::size_t at = 0;
  for (const auto& [key, unused] : distinct.mapping().entries) {
    while (!equal(rt, keys[at].first, key)) ++at;
    out.push_back(chosen[at++]);
  }
  return generator(rt, std::move(out));
}

template <bool kLargest>
Value extreme(Runtime& rt, const Value& self, const Given& given) {
  const bool case_sensitive = given.truth(0, false);
  const Path path = given.is_none(1) ? Path() : path_of(rt, given[1]);
  std::optional<Keyed> best;
  const Next next = iterate_or_fail(rt, self);
  while (auto item = next()) {
    Keyed one{folded(rt, follow(rt, *item, path), case_sensitive), *item};
    if (!best || (kLargest ? less(rt, best->key, one.key) : less(rt, one.key, best->key))) best = std::move(one);
  }
  return best ? best->item : rt.missing("No aggregated item, sequence was empty.");
}

Value groupby(Runtime& rt, const Value& self, const Given& given) {
  const Path path = path_of(rt, given[0]);
  const Value* otherwise = given.is_none(1) ? nullptr : &given[1];
  const bool case_sensitive = given.truth(2, false);
  std::vector<Keyed> all;
  for (Value& item : to_values(rt, self))
    all.push_back({folded(rt, follow(rt, item, path, otherwise), case_sensitive), std::move(item)});
  sort_keyed(rt, all, false);
  Values groups;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    Values members;
    for (; end < all.size() && equal(rt, all[begin].key, all[end].key); ++end) members.push_back(all[end].item);
    const Value grouper = follow(rt, members[0], path, otherwise);
    groups.push_back(rt.sequence(SequenceType::group, {grouper, rt.list(std::move(members))}));
  }
  return rt.list(std::move(groups));
}

constexpr std::array kFilters = {
    Builtin{"dictsort", "case_sensitive by reverse", 0, dictsort},
    Builtin{"groupby", "attribute default case_sensitive", 1, groupby},
    Builtin{"map", "*", 0, map_filter},
    Builtin{"max", "case_sensitive attribute", 0, extreme<true>},
    Builtin{"min", "case_sensitive attribute", 0, extreme<false>},
    Builtin{"reject", "*", 0, select<false, false>},
    Builtin{"rejectattr", "*", 0, select<false, true>},
    Builtin{"select", "*", 0, select<true, false>},
    Builtin{"selectattr", "*", 0, select<true, true>},
    Builtin{"sort", "reverse case_sensitive attribute", 0, sort},
    Builtin{"unique", "case_sensitive attribute", 0, unique},
};

}  // namespace

Path path_of(Runtime& rt, const Value& attribute) {
  if (attribute.is_whole()) return {attribute};
  if (!attribute.is(Kind::text)) rt.fail("an attribute is named by a str or an int, not " + type_name(attribute));
  Path path;
  for (std::string_view names = attribute.text().utf8;;) {
    const std::size_t dot = names.find('.');
    const std::string_view name = names.substr(0, dot);
    const bool digits = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    const auto number = digits ? read_whole(name, 10) : std::nullopt;
    path.push_back(number ? Value(*number) : rt.text(std::string(name)));
    if (dot == std::string_view::npos) return path;
    names.remove_prefix(dot + 1);
  }
}

Value follow(Runtime& rt, Value item, const Path& path, const Value* otherwise) {
  for (const Value& key : path) {
    item = get_item(rt, item, key);
    if (otherwise != nullptr && item.is(Kind::missing)) item = *otherwise;
  }
  return item;
}

std::span<const Builtin> selection_filters() { return kFilters; }

}  // namespace conclave::jinja
