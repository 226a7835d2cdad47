// How expressions are evaluated.
#include <fmt/format.h>

#include "text/jinja/access.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/show.h"

namespace conclave::jinja {

Value Name::evaluate(Interpreter& in) const { return in.look_up(name); }

Value SequenceLiteral::evaluate(Interpreter& in) const {
  Values values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(in.evaluate(*item));
  return in.rt.sequence(type, std::move(values));
}

Value MappingLiteral::evaluate(Interpreter& in) const {
  std::vector<Entry> values;
  values.reserve(entries.size());
  for (const auto& [key, value] : entries) {
    Value made = in.evaluate(*key);
    values.emplace_back(std::move(made), in.evaluate(*value));
  }
  return in.rt.dict(std::move(values));
}

Value AttributeOf::evaluate(Interpreter& in) const { return get_attribute(in.rt, in.evaluate(*object), name); }

Value ItemOf::evaluate(Interpreter& in) const {
  const Value container = in.evaluate(*object);
  return get_item(in.rt, container, in.evaluate(*key));
}

Value SliceOf::evaluate(Interpreter& in) const {
  const auto bound = [&](const ExpressionPtr& expression) { return expression != nullptr ? in.evaluate(*expression) : Value(); };
  const Value container = in.evaluate(*object);
  const Value from = bound(start), to = bound(stop);
  return slice(in.rt, container, from, to, bound(step));
}

Value Call::evaluate(Interpreter& in) const {
  const Value function = in.evaluate(*callee);
  const Args args = in.evaluate(arguments);
  in.rt.line = line;
  return call(in.rt, function, args);
}

Value Filter::evaluate(Interpreter& in) const { return filter.apply(in, in.evaluate(*operand)); }

Value FilterCall::apply(Interpreter& in, const Value& value) const {
  const Args args = in.evaluate(arguments);
  in.rt.line = line;
  return apply_filter(in.rt, name, value, args);
}

Value Test::evaluate(Interpreter& in) const {
  const Value value = in.evaluate(*operand);
  const Args args = in.evaluate(arguments);
  return apply_test(in.rt, name, value, args);
}

Value Not::evaluate(Interpreter& in) const { return !truth(in.rt, in.evaluate(*operand)); }

Value Unary::evaluate(Interpreter& in) const { return apply(in.rt, in.evaluate(*operand)); }

Value Arithmetic::evaluate(Interpreter& in) const {
  Value result = in.evaluate(*first);
  for (const auto& [apply, operand] : rest) result = apply(in.rt, result, in.evaluate(*operand));
  return result;
}

Value Concatenation::evaluate(Interpreter& in) const {
  Values values;
  values.reserve(parts.size());
  for (const auto& part : parts) values.push_back(in.evaluate(*part));
  Writer out(in.rt);
  for (const Value& value : values) write_text(out, in.rt, value);
  return out.value();
}

Value Comparison::evaluate(Interpreter& in) const {
  Value left = in.evaluate(*first);
  for (const auto& [holds, operand] : rest) {
    Value right = in.evaluate(*operand);
    if (!holds(in.rt, left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Logical::evaluate(Interpreter& in) const {
  Value value;
  for (const auto& part : parts) {
    value = in.evaluate(*part);
    if (truth(in.rt, value) != is_and) break;
  }
  return value;
}

Value Conditional::evaluate(Interpreter& in) const {
  if (truth(in.rt, in.evaluate(*condition))) return in.evaluate(*value);
  if (otherwise != nullptr) return in.evaluate(*otherwise);
  return in.rt.missing(
      fmt::format("the inline if-expression on line {} evaluated to false and no else section was defined.", line));
}

}  // namespace conclave::jinja
