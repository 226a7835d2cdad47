#pragma once
// A parsed template. Every node knows how to run itself (evaluate.cpp, execute.cpp, loop.cpp, macro.cpp).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace conclave::jinja {

class Interpreter;

struct Expression {
  explicit Expression(int at_line) : line(at_line) {}
  virtual ~Expression() = default;
  virtual Value evaluate(Interpreter&) const = 0;

  int line;
  int depth = 1;  // of expressions in one another, this one included
};
using ExpressionPtr = std::unique_ptr<const Expression>;
using Expressions = std::vector<ExpressionPtr>;

enum class Flow { on, break_loop, continue_loop };

struct Statement {
  explicit Statement(int at_line) : line(at_line) {}
  virtual ~Statement() = default;
  virtual Flow execute(Interpreter&) const = 0;

  int line;
};
using Body = std::vector<std::unique_ptr<const Statement>>;

struct Arguments {  // f(a, *b, c=d, **e)
  Expressions values;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more_values, more_named;
};

// -- expressions --------------------------------------------------------------------------------------------------------

struct Constant final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override { return value; }
  Value value;
};

struct Name final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  std::string name;
};

struct SequenceLiteral final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  SequenceType type = SequenceType::list;
  Expressions items;
};

struct MappingLiteral final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};

struct AttributeOf final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr object;
  std::string name;
};

struct ItemOf final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr object, key;
};

struct SliceOf final : Expression {  // a bound left out is null
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr object, start, stop, step;
};

struct Call final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr callee;
  Arguments arguments;
};

struct FilterCall {
  Value apply(Interpreter&, const Value&) const;
  int line = 1;
  std::string name;
  Arguments arguments;
};

struct Filter final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr operand;
  FilterCall filter;
};

struct Test final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr operand;
  std::string name;
  Arguments arguments;
};

struct Not final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr operand;
};

struct Unary final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  Value (*apply)(Runtime&, const Value&) = nullptr;
  ExpressionPtr operand;
};

// a + b - c: from the left, in one node, since templates have long ones.
struct Arithmetic final : Expression {
  using Expression::Expression;
  using Apply = Value (*)(Runtime&, const Value&, const Value&);
  Value evaluate(Interpreter&) const override;
  ExpressionPtr first;
  std::vector<std::pair<Apply, ExpressionPtr>> rest;
};

struct Concatenation final : Expression {  // a ~ b ~ c
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  Expressions parts;
};

struct Comparison final : Expression {  // a < b <= c
  using Expression::Expression;
  using Holds = bool (*)(Runtime&, const Value&, const Value&);
  Value evaluate(Interpreter&) const override;
  ExpressionPtr first;
  std::vector<std::pair<Holds, ExpressionPtr>> rest;
};

struct Logical final : Expression {  // a and b and c, or with `or`
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  bool is_and = true;
  Expressions parts;
};

struct Conditional final : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override;
  ExpressionPtr condition, value, otherwise;  // `otherwise` may be null
};

// -- statements ---------------------------------------------------------------------------------------------------------

struct Target {  // of an assignment: a name, ns.name, or several in parentheses
  std::string name;
  std::string attribute;      // of the namespace `name`; empty for a plain name
  std::vector<Target> parts;  // not empty: names to unpack into
};

struct Data final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  std::string text;
};

struct Print final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  ExpressionPtr value;
};

struct If final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};

struct For final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  Target target;
  ExpressionPtr iterable, condition;  // `condition` may be null
  bool recursive = false;
  Body body, otherwise;
};

struct LoopControl final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override { return flow; }
  Flow flow = Flow::break_loop;
};

struct Set final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  Target target;
  ExpressionPtr value;
};

struct SetBlock final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  Target target;
  std::vector<FilterCall> filters;  // applied to the block's text, in this order
  Body body;
};

struct FilterBlock final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  std::vector<FilterCall> filters;
  Body body;
};

struct With final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Body body;
};

struct Signature {   // of a macro, or of what a call block hands over
  std::string name;  // empty for the latter
  std::vector<std::string> parameters;
  Expressions defaults;                                               // of the last parameters
  bool uses_caller = false, uses_values = false, uses_named = false;  // caller, varargs, kwargs
  Body body;
};

struct Macro final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  Signature signature;
};

struct CallBlock final : Statement {
  using Statement::Statement;
  Flow execute(Interpreter&) const override;
  std::unique_ptr<const Call> call;  // null for {% generation %}, which only shows its body
  Signature caller;
};

struct Template {
  Body body;
};

}  // namespace conclave::jinja
