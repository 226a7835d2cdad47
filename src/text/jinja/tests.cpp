// Tests: what stands after `is`, and what select and its kin choose by.
#include "text/jinja/access.h"
#include "text/jinja/builtin.h"
#include "text/jinja/compare.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"

namespace conclave::jinja {
namespace {

template <Kind kKind>
Value is_kind(Runtime&, const Value& self, const Given&) {
  return self.is(kKind);
}

template <bool kTruth>
Value is_exactly(Runtime&, const Value& self, const Given&) {
  return self.is(Kind::boolean) && self.boolean() == kTruth;
}

Value is_callable(Runtime&, const Value& self, const Given&) { return self.is(Kind::object) && self.object().callable(); }
Value is_defined(Runtime&, const Value& self, const Given&) { return !self.is(Kind::missing); }
Value is_number(Runtime&, const Value& self, const Given&) { return self.is_number(); }
Value is_iterable(Runtime& rt, const Value& self, const Given&) { return iterate(rt, self) != nullptr; }
Value is_escaped(Runtime&, const Value& self, const Given&) { return self.is(Kind::text) && self.text().markup; }
Value is_same(Runtime&, const Value& self, const Given& given) { return self.same_as(given[0]); }
Value is_in(Runtime& rt, const Value& self, const Given& given) { return contains(rt, given[0], self); }

// What has both a length and items. A mapping has, a view of one has not.
Value is_sequence(Runtime&, const Value& self, const Given&) {
  if (self.is(Kind::object)) return type_name(self) == "range";
  return self.is(Kind::text) || self.is(Kind::mapping) || self.is(Kind::missing) ||
         (self.is(Kind::sequence) && !self.sequence().is_view());
}

Value is_filter(Runtime&, const Value& self, const Given&) {
  if (!self.is(Kind::text)) return false;
  for (const auto table : {value_filters(), text_filters(), sequence_filters(), selection_filters()}) {
    if (find_builtin(table, self.text().utf8) != nullptr) return true;
  }
  return false;
}

Value is_test(Runtime&, const Value& self, const Given&) {
  return self.is(Kind::text) && find_builtin(tests(), self.text().utf8) != nullptr;
}

Value is_lower_text(Runtime& rt, const Value& self, const Given&) {
  const std::string text = to_text(rt, self).text().utf8;
  return lower(text) == text && upper(text) != text;
}

Value is_upper_text(Runtime& rt, const Value& self, const Given&) {
  const std::string text = to_text(rt, self).text().utf8;
  return upper(text) == text && lower(text) != text;
}

template <int kRemainder>
Value has_remainder(Runtime& rt, const Value& self, const Given&) {
  return equal(rt, modulo(rt, self, Value(Int{2})), Value(Int{kRemainder}));
}

Value divisible_by(Runtime& rt, const Value& self, const Given& given) {
  return equal(rt, modulo(rt, self, given[0]), Value(Int{0}));
}

Value is_equal(Runtime& rt, const Value& self, const Given& given) { return equal(rt, self, given[0]); }
Value is_unequal(Runtime& rt, const Value& self, const Given& given) { return !equal(rt, self, given[0]); }
Value is_less(Runtime& rt, const Value& self, const Given& given) { return less(rt, self, given[0]); }
Value is_greater(Runtime& rt, const Value& self, const Given& given) { return less(rt, given[0], self); }
Value is_at_most(Runtime& rt, const Value& self, const Given& given) {
  return less(rt, self, given[0]) || equal(rt, self, given[0]);
}
Value is_at_least(Runtime& rt, const Value& self, const Given& given) {
  return less(rt, given[0], self) || equal(rt, self, given[0]);
}

constexpr std::array kTests = {
    Builtin{"!=", "other", 1, is_unequal},
    Builtin{"<", "other", 1, is_less},
    Builtin{"<=", "other", 1, is_at_most},
    Builtin{"==", "other", 1, is_equal},
    Builtin{">", "other", 1, is_greater},
    Builtin{">=", "other", 1, is_at_least},
    Builtin{"boolean", "", 0, is_kind<Kind::boolean>},
    Builtin{"callable", "", 0, is_callable},
    Builtin{"defined", "", 0, is_defined},
    Builtin{"divisibleby", "num", 1, divisible_by},
    Builtin{"eq", "other", 1, is_equal},
    Builtin{"equalto", "other", 1, is_equal},
    Builtin{"escaped", "", 0, is_escaped},
    Builtin{"even", "", 0, has_remainder<0>},
    Builtin{"false", "", 0, is_exactly<false>},
    Builtin{"filter", "", 0, is_filter},
    Builtin{"float", "", 0, is_kind<Kind::real>},
    Builtin{"ge", "other", 1, is_at_least},
    Builtin{"greaterthan", "other", 1, is_greater},
    Builtin{"gt", "other", 1, is_greater},
    Builtin{"in", "seq", 1, is_in},
    Builtin{"integer", "", 0, is_kind<Kind::integer>},
    Builtin{"iterable", "", 0, is_iterable},
    Builtin{"le", "other", 1, is_at_most},
    Builtin{"lessthan", "other", 1, is_less},
    Builtin{"lower", "", 0, is_lower_text},
    Builtin{"lt", "other", 1, is_less},
    Builtin{"mapping", "", 0, is_kind<Kind::mapping>},
    Builtin{"ne", "other", 1, is_unequal},
    Builtin{"none", "", 0, is_kind<Kind::none>},
    Builtin{"number", "", 0, is_number},
    Builtin{"odd", "", 0, has_remainder<1>},
    Builtin{"sameas", "other", 1, is_same},
    Builtin{"sequence", "", 0, is_sequence},
    Builtin{"string", "", 0, is_kind<Kind::text>},
    Builtin{"test", "", 0, is_test},
    Builtin{"true", "", 0, is_exactly<true>},
    Builtin{"undefined", "", 0, is_kind<Kind::missing>},
    Builtin{"upper", "", 0, is_upper_text},
};

}  // namespace

std::span<const Builtin> tests() { return kTests; }

}  // namespace conclave::jinja
