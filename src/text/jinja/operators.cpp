#include "text/jinja/operators.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "text/jinja/format.h"
#include "text/jinja/runtime.h"
#include "text/jinja/show.h"

namespace conclave::jinja {
namespace {

constexpr Int kMost = kMostInt, kLeast = -kMost - 1;

void need_defined(Runtime& rt, const Value& a, const Value& b) {
  for (const Value* side : {&a, &b}) {
    if (side->is(Kind::missing)) rt.fail(side->missing().words);
  }
}

[[noreturn]] void refuse(Runtime& rt, const char* sign, const Value& a, const Value& b) {
  rt.fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", sign, type_name(a), type_name(b)));
}

[[noreturn]] void overflow(Runtime& rt) { rt.fail("a whole number grows beyond 127 bits"); }

// Multiplication by hand: the compiler's own check of 128 bits calls a function that not every run-time library has.
Int multiply_whole(Runtime& rt, Int a, Int b) {
  if (a == 0 || b == 0) return 0;
  if (a == kLeast || b == kLeast) overflow(rt);
  const Int x = a < 0 ? -a : a, y = b < 0 ? -b : b;
  if (x > kMost / y) overflow(rt);
  return (a < 0) == (b < 0) ? x * y : -(x * y);
}

Int floor_quotient(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value join_sequences(Runtime& rt, const Sequence& a, const Sequence& b) {
  rt.afford((a.items.size() + b.items.size()) * sizeof(Value));
  Values items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return rt.sequence(a.is_tuple() ? SequenceType::tuple : SequenceType::list, std::move(items));
}

Value join_text(Runtime& rt, const Value& a, const Value& b) {
  const bool markup = a.text().markup || b.text().markup;
  const Value left = markup ? escape(rt, a) : a, right = markup ? escape(rt, b) : b;
  rt.afford(left.text().utf8.size() + right.text().utf8.size());
  return rt.text(left.text().utf8 + right.text().utf8, markup);
}

bool can_repeat(const Value& value) { return value.is(Kind::text) || (value.is(Kind::sequence) && !value.sequence().is_view()); }

Value repeat(Runtime& rt, const Value& value, Int count) {
  const std::size_t times =
      count < 0 ? 0 : static_cast<std::size_t>(std::min<Int>(count, std::numeric_limits<std::int64_t>::max()));
  if (value.is(Kind::text)) {
    Writer out(rt);
    out.fill(times, value.text().utf8);
    return out.value(value.text().markup);
  }
  const Values& items = value.sequence().items;
  const std::size_t bound = rt.options().max_held_bytes / sizeof(Value);
  if (!items.empty() && times > bound / items.size()) rt.afford(std::numeric_limits<std::size_t>::max());
  rt.afford(times * items.size() * sizeof(Value));
  Values out;
  for (std::size_t i = 0; !items.empty() && i < times; ++i) out.insert(out.end(), items.begin(), items.end());
  return rt.sequence(value.sequence().is_tuple() ? SequenceType::tuple : SequenceType::list, std::move(out));
}

Value power_whole(Runtime& rt, Int base, Int exponent) {
  Int result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? Int{1} : base;
  if (base == -1) return exponent % 2 == 0 ? Int{1} : Int{-1};
  for (; exponent > 0; --exponent) result = multiply_whole(rt, result, base);  // at most 127 times, as |base| > 1
  return result;
}

}  // namespace

Value add(Runtime& rt, const Value& a, const Value& b) {
  need_defined(rt, a, b);
  if (a.is_whole() && b.is_whole()) {
    const Int x = a.whole(), y = b.whole();
    if (y > 0 ? x > kMost - y : x < kLeast - y) overflow(rt);
    return x + y;
  }
  if (a.is_number() && b.is_number()) return a.number() + b.number();
  if (a.is(Kind::text) && b.is(Kind::text)) return join_text(rt, a, b);
  if (a.is(Kind::sequence) && b.is(Kind::sequence) && !a.sequence().is_view() && !b.sequence().is_view() &&
      a.sequence().is_tuple() == b.sequence().is_tuple()) {
    return join_sequences(rt, a.sequence(), b.sequence());
  }
  if (a.is(Kind::text)) rt.fail(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
  refuse(rt, "+", a, b);
}

Value subtract(Runtime& rt, const Value& a, const Value& b) {
  need_defined(rt, a, b);
  if (a.is_whole() && b.is_whole()) {
    const Int x = a.whole(), y = b.whole();
    if (y > 0 ? x < kLeast + y : x > kMost + y) overflow(rt);
    return x - y;
  }
  if (!a.is_number() || !b.is_number()) refuse(rt, "-", a, b);
  return a.number() - b.number();
}

Value multiply(Runtime& rt, const Value& a, const Value& b) {
  need_defined(rt, a, b);
  if (a.is_whole() && b.is_whole()) return multiply_whole(rt, a.whole(), b.whole());
  if (a.is_number() && b.is_number()) return a.number() * b.number();
  if (can_repeat(a) && b.is_whole()) return repeat(rt, a, b.whole());
  if (a.is_whole() && can_repeat(b)) return repeat(rt, b, a.whole());
  refuse(rt, "*", a, b);
}

Value divide(Runtime& rt, const Value& a, const Value& b) {
  need_defined(rt, a, b);
  if (!a.is_number() || !b.is_number()) refuse(rt, "/", a, b);
  if (b.number() == 0) rt.fail("division by zero");
  return a.number() / b.number();
}

Value floor_divide(Runtime& rt, const Value& a, const Value& b) {
  need_defined(rt, a, b);
  if (!a.is_number() || !b.is_number()) refuse(rt, "//", a, b);
  if (b.number() == 0) rt.fail("division by zero");
  if (!a.is_whole() || !b.is_whole()) return std::floor(a.number() / b.number());
  if (a.whole() == kLeast && b.whole() == -1) overflow(rt);
  return floor_quotient(a.whole(), b.whole());
}

Value modulo(Runtime& rt, const Value& a, const Value& b) {
  if (a.is(Kind::text)) return percent_format(rt, a, b);
  need_defined(rt, a, b);
  if (!a.is_number() || !b.is_number()) refuse(rt, "%", a, b);
  if (b.number() == 0) rt.fail("division by zero");
  if (a.is_whole() && b.is_whole()) {
    if (b.whole() == -1) return Int{0};
    const Int remainder = a.whole() % b.whole();
    return remainder != 0 && (remainder < 0) != (b.whole() < 0) ? remainder + b.whole() : remainder;
  }
  const double divisor = b.number(), remainder = std::fmod(a.number(), divisor);
  if (remainder == 0) return std::copysign(0.0, divisor);
  return (remainder < 0) != (divisor < 0) ? remainder + divisor : remainder;
}

Value power(Runtime& rt, const Value& a, const Value& b) {
  need_defined(rt, a, b);
  if (!a.is_number() || !b.is_number()) refuse(rt, "** or pow()", a, b);
  if (a.number() == 0 && b.number() < 0) rt.fail("0.0 cannot be raised to a negative power");
  if (a.is_whole() && b.is_whole() && b.whole() >= 0) return power_whole(rt, a.whole(), b.whole());
  const double result = std::pow(a.number(), b.number());
  if (std::isnan(result) && !std::isnan(a.number()) && !std::isnan(b.number())) rt.fail("a power that is not a real number");
  if (std::isinf(result) && std::isfinite(a.number()) && std::isfinite(b.number())) rt.fail("Numerical result out of range");
  return result;
}

Value negate(Runtime& rt, const Value& value) {
  if (value.is(Kind::missing)) rt.fail(value.missing().words);
  if (!value.is_number()) rt.fail(fmt::format("bad operand type for unary -: '{}'", type_name(value)));
  if (!value.is_whole()) return -value.real();
  if (value.whole() == kLeast) overflow(rt);
  return -value.whole();
}

Value plus(Runtime& rt, const Value& value) {
  if (value.is(Kind::missing)) rt.fail(value.missing().words);
  if (!value.is_number()) rt.fail(fmt::format("bad operand type for unary +: '{}'", type_name(value)));
  return value.is_whole() ? Value(value.whole()) : value;
}

Value escape(Runtime& rt, const Value& value) {
  if (value.is(Kind::text) && value.text().markup) return value;
  const Value text = to_text(rt, value);
  Writer out(rt);
  std::string_view rest = text.text().utf8;
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find_first_of("&<>\"'"), rest.size());
    out.put(rest.substr(0, plain));
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    switch (rest.front()) {
      case '&': out.put("&amp;"); break;
      case '<': out.put("&lt;"); break;
      case '>': out.put("&gt;"); break;
      case '"': out.put("&#34;"); break;
      default: out.put("&#39;"); break;
    }
    rest.remove_prefix(1);
  }
  return out.value(true);
}

}  // namespace conclave::jinja
