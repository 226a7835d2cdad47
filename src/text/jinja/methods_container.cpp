// Methods of list, tuple and dict. What would change them is refused elsewhere (find_attribute).
#include "text/jinja/builtin.h"
#include "text/jinja/compare.h"
#include "text/jinja/show.h"

namespace conclave::jinja {
namespace {

Value get(Runtime& rt, const Value& self, const Given& given) {
  const Value* found = self.mapping().find(rt, given[0]);
  return found != nullptr ? *found : given.value(1);
}

Value keys(Runtime& rt, const Value& self, const Given&) {
  Values all;
  for (const auto& [key, value] : self.mapping().entries) all.push_back(key);
  return rt.sequence(SequenceType::keys, std::move(all));
}

Value values(Runtime& rt, const Value& self, const Given&) {
  Values all;
  for (const auto& [key, value] : self.mapping().entries) all.push_back(value);
  return rt.sequence(SequenceType::values, std::move(all));
}

Value items(Runtime& rt, const Value& self, const Given&) {
  Values all;
  for (const auto& [key, value] : self.mapping().entries) all.push_back(rt.tuple({key, value}));
  return rt.sequence(SequenceType::items, std::move(all));
}

Value copy(Runtime&, const Value& self, const Given&) { return self; }

Value count(Runtime& rt, const Value& self, const Given& given) {
  Int found = 0;
  for (const Value& item : self.sequence().items) found += equal(rt, item, given[0]) ? 1 : 0;
  return found;
}

Value index(Runtime& rt, const Value& self, const Given& given) {
  const Values& items = self.sequence().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(rt, items[i], given[0])) return static_cast<Int>(i);
  }
  rt.fail("the value is not in the " + type_name(self));
}

constexpr std::array kDict = {
    Builtin{"copy", "", 0, copy}, Builtin{"get", "key default", 1, get}, Builtin{"items", "", 0, items},
    Builtin{"keys", "", 0, keys}, Builtin{"values", "", 0, values},
};
constexpr std::array kList = {
    Builtin{"copy", "", 0, copy},
    Builtin{"count", "value", 1, count},
    Builtin{"index", "value", 1, index},
};

}  // namespace

std::span<const Builtin> container_methods(const Value& value) {
  if (value.is(Kind::mapping)) return kDict;
  if (!value.is(Kind::sequence) || value.sequence().is_view()) return {};
  return std::span(kList).subspan(value.sequence().is_tuple() ? 1 : 0);
}

}  // namespace conclave::jinja
