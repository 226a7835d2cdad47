// Operators, by precedence.
#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <array>

#include "text/jinja/compare.h"
#include "text/jinja/finish.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"

namespace conclave::jinja {

ExpressionPtr ExpressionParser::expression() {
  const TokenReader::Nested nested(tokens_);
  ExpressionPtr value = expression_without_if();
  while (tokens_.at_name("if")) {
    auto node = std::make_unique<Conditional>(tokens_.take().line);
    node->value = std::move(value);
    node->condition = expression_without_if();
    if (tokens_.take_name("else")) node->otherwise = expression();
    const Conditional& made = *node;
    value = finished(std::move(node), {made.value.get(), made.condition.get(), made.otherwise.get()});
  }
  return value;
}

ExpressionPtr ExpressionParser::expression_without_if() { return logical(false); }

ExpressionPtr ExpressionParser::logical(bool is_and) {
  const std::string_view word = is_and ? "and" : "or";
  ExpressionPtr first = is_and ? negation() : logical(true);
  if (!tokens_.at_name(word)) return first;
  auto node = std::make_unique<Logical>(tokens_.line());
  node->is_and = is_and;
  node->parts.push_back(std::move(first));
  while (tokens_.take_name(word)) node->parts.push_back(is_and ? negation() : logical(true));
  const Logical& made = *node;
  return finished_list(std::move(node), made.parts);
}

ExpressionPtr ExpressionParser::negation() {
  if (!tokens_.at_name("not")) return comparison();
  const TokenReader::Nested nested(tokens_);
  auto node = std::make_unique<Not>(tokens_.take().line);
  node->operand = negation();
  const Expression* operand = node->operand.get();
  return finished(std::move(node), {operand});
}

ExpressionPtr ExpressionParser::comparison() {
  struct Sign {
    std::string_view text;
    Comparison::Holds holds;
  };
  using V = const Value&;
  static constexpr std::array<Sign, 6> kSigns = {{
      {"==", [](Runtime& rt, V a, V b) { return equal(rt, a, b); }},
      {"!=", [](Runtime& rt, V a, V b) { return !equal(rt, a, b); }},
      {"<", [](Runtime& rt, V a, V b) { return less(rt, a, b); }},
      {">", [](Runtime& rt, V a, V b) { return less(rt, b, a); }},
      {"<=", [](Runtime& rt, V a, V b) { return less(rt, a, b) || equal(rt, a, b); }},
      {">=", [](Runtime& rt, V a, V b) { return less(rt, b, a) || equal(rt, a, b); }},
  }};
  auto node = std::make_unique<Comparison>(tokens_.line());
  node->first = sum();
  node->depth = node->first->depth + 1;
  while (true) {
    const auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& s) { return tokens_.at_sign(s.text); });
    Comparison::Holds holds = nullptr;
    if (sign != kSigns.end()) {
      tokens_.take();
      holds = sign->holds;
    } else if (tokens_.take_name("in")) {
      holds = [](Runtime& rt, V a, V b) { return contains(rt, b, a); };
    } else if (tokens_.at_name("not") && tokens_.next().type == TokenType::name && tokens_.next().value == "in") {
      tokens_.take(), tokens_.take();
      holds = [](Runtime& rt, V a, V b) { return !contains(rt, b, a); };
    } else {
      break;
    }
    node->rest.emplace_back(holds, sum());
    node->depth = std::max(node->depth, node->rest.back().second->depth + 1);
  }
  if (node->rest.empty()) return std::move(node->first);
  return finished(std::move(node), {});
}

// a + b - c, from the left.
ExpressionPtr ExpressionParser::chain(std::span<const ArithmeticSign> signs, ExpressionPtr (ExpressionParser::*operand)()) {
  ExpressionPtr first = (this->*operand)();
  const auto sign_here = [&] {
    return std::find_if(signs.begin(), signs.end(), [&](const auto& s) { return tokens_.at_sign(s.text); });
  };
  auto sign = sign_here();
  if (sign == signs.end()) return first;
  auto node = std::make_unique<Arithmetic>(tokens_.line());
  node->depth = first->depth + 1;
  node->first = std::move(first);
  for (; sign != signs.end(); sign = sign_here()) {
    tokens_.take();
    node->rest.emplace_back(sign->apply, (this->*operand)());
    node->depth = std::max(node->depth, node->rest.back().second->depth + 1);
  }
  return finished(std::move(node), {});
}

ExpressionPtr ExpressionParser::sum() {
  static constexpr std::array<ArithmeticSign, 2> kSigns = {{{"+", add}, {"-", subtract}}};
  return chain(kSigns, &ExpressionParser::concatenation);
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!tokens_.at_sign("~")) return first;
  auto node = std::make_unique<Concatenation>(tokens_.line());
  node->parts.push_back(std::move(first));
  while (tokens_.take_sign("~")) node->parts.push_back(product());
  const Concatenation& made = *node;
  return finished_list(std::move(node), made.parts);
}

ExpressionPtr ExpressionParser::product() {
  static constexpr std::array<ArithmeticSign, 4> kSigns = {{{"*", multiply}, {"/", divide}, {"//", floor_divide}, {"%", modulo}}};
  return chain(kSigns, &ExpressionParser::powers);
}

ExpressionPtr ExpressionParser::powers() {
  static constexpr std::array<ArithmeticSign, 1> kSigns = {{{"**", power}}};
  return chain(kSigns, &ExpressionParser::filtered_unary);
}

ExpressionPtr ExpressionParser::filtered_unary() { return postfix_filters(unary()); }

ExpressionPtr ExpressionParser::unary() {
  const TokenReader::Nested nested(tokens_);
  if (!tokens_.at_sign("-") && !tokens_.at_sign("+")) return postfix(primary());
  const Token& sign = tokens_.take();
  auto node = std::make_unique<Unary>(sign.line);
  node->apply = sign.value == "-" ? negate : plus;
  node->operand = unary();
  const Expression* operand = node->operand.get();
  return postfix(finished(std::move(node), {operand}));
}

}  // namespace conclave::jinja
