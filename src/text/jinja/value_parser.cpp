// Values and what follows them: literals, attributes, items, calls, filters, tests.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/expression_parser.h"
#include "text/jinja/finish.h"
#include "text/jinja/number_text.h"
#include "text/jinja/runtime.h"

namespace conclave::jinja {
namespace {

ExpressionPtr constant(int line, Value value) {
  auto node = std::make_unique<Constant>(line);
  node->value = std::move(value);
  return node;
}

}  // namespace

ExpressionPtr ExpressionParser::postfix(ExpressionPtr operand) {
  while (true) {
    if (tokens_.at_sign("."))
      operand = dotted(std::move(operand));
    else if (tokens_.at_sign("["))
      operand = subscript(std::move(operand));
    else if (tokens_.at_sign("("))
      operand = call(std::move(operand));
    else
      return operand;
  }
}

ExpressionPtr ExpressionParser::postfix_filters(ExpressionPtr operand) {
  while (true) {
    if (tokens_.at_sign("|"))
      operand = filter(std::move(operand));
    else if (tokens_.at_name("is"))
      operand = test(std::move(operand));
    else if (tokens_.at_sign("("))
      operand = call(std::move(operand));  // what a filter or test returned
    else
      return operand;
  }
}

ExpressionPtr ExpressionParser::dotted(ExpressionPtr object) {
  const int line = tokens_.take().line;
  if (tokens_.at(TokenType::name)) {
    auto node = std::make_unique<AttributeOf>(line);
    node->object = std::move(object);
    node->name = tokens_.take().value;
    const Expression* child = node->object.get();
    return finished(std::move(node), {child});
  }
  if (!tokens_.at(TokenType::integer)) tokens_.expected("name or number");
  auto node = std::make_unique<ItemOf>(line);
  node->object = std::move(object);
  node->key = number_literal();
  const Expression* child = node->object.get();
  return finished(std::move(node), {child});
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  const int line = tokens_.take().line;
  ExpressionPtr first;
  if (!tokens_.at_sign(":")) first = expression();
  if (tokens_.at_sign(":")) {
    auto node = std::make_unique<SliceOf>(line);
    const auto bound = [&]() -> ExpressionPtr {
      if (!tokens_.take_sign(":")) return nullptr;
      return tokens_.at_sign(":") || tokens_.at_sign("]") || tokens_.at_sign(",") ? nullptr : expression();
    };
    node->start = std::move(first);
    node->stop = bound();
    node->step = bound();
    tokens_.need_sign("]");
    node->object = std::move(object);
    const SliceOf& made = *node;
    return finished(std::move(node), {made.object.get(), made.start.get(), made.stop.get(), made.step.get()});
  }
  auto node = std::make_unique<ItemOf>(line);
  node->object = std::move(object);
  node->key = std::move(first);
  if (tokens_.at_sign(",")) {  // x[a, b]: the key is a tuple
    auto key = std::make_unique<SequenceLiteral>(line);
    key->type = SequenceType::tuple;
    key->items.push_back(std::move(node->key));
    while (tokens_.take_sign(",")) key->items.push_back(expression());
    const SequenceLiteral& made = *key;
    node->key = finished_list(std::move(key), made.items);
  }
  tokens_.need_sign("]");
  const ItemOf& made = *node;
  return finished(std::move(node), {made.object.get(), made.key.get()});
}

ExpressionPtr ExpressionParser::call(ExpressionPtr callee) {
  auto node = std::make_unique<Call>(tokens_.line());
  node->callee = std::move(callee);
  node->arguments = arguments();
  const Call& made = *node;
  return finished_call(std::move(node), made.callee.get(), made.arguments);
}

Arguments ExpressionParser::arguments() {
  Arguments out;
  tokens_.need_sign("(");
  for (bool first = true; !tokens_.at_sign(")"); first = false) {
    if (!first) {
      tokens_.need_sign(",");
      if (tokens_.at_sign(")")) break;
    }
    if (tokens_.take_sign("*")) {
      if (out.more_values != nullptr || out.more_named != nullptr) tokens_.refuse("invalid syntax for function call expression");
      out.more_values = expression();
    } else if (tokens_.take_sign("**")) {
      if (out.more_named != nullptr) tokens_.refuse("invalid syntax for function call expression");
      out.more_named = expression();
    } else if (tokens_.at(TokenType::name) && tokens_.next().type == TokenType::sign && tokens_.next().value == "=") {
      const std::string name = tokens_.take().value;
      tokens_.take();
      const bool twice = std::any_of(out.named.begin(), out.named.end(), [&](const auto& other) { return other.first == name; });
      if (out.more_named != nullptr || twice) tokens_.refuse("invalid syntax for function call expression");
      out.named.emplace_back(name, expression());
    } else {
      if (!out.named.empty() || out.more_values != nullptr || out.more_named != nullptr) {
        tokens_.refuse("invalid syntax for function call expression");
      }
      out.values.push_back(expression());
    }
  }
  tokens_.need_sign(")");
  return out;
}

std::string ExpressionParser::dotted_name(std::string_view what) {
  std::string name = tokens_.need(TokenType::name, what).value;
  while (tokens_.take_sign(".")) name += '.' + tokens_.need(TokenType::name, what).value;
  return name;
}

FilterCall ExpressionParser::filter_call() {
  FilterCall made;
  made.line = tokens_.line();
  made.name = dotted_name("the name of a filter");
  if (tokens_.at_sign("(")) made.arguments = arguments();
  return made;
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr operand) {
  auto node = std::make_unique<Filter>(tokens_.take().line);
  node->operand = std::move(operand);
  node->filter = filter_call();
  const Filter& made = *node;
  return finished_call(std::move(node), made.operand.get(), made.filter.arguments);
}

std::vector<FilterCall> ExpressionParser::block_filters(bool begins_inline) {
  std::vector<FilterCall> out;
  if (begins_inline) out.push_back(filter_call());
  while (tokens_.take_sign("|")) out.push_back(filter_call());
  return out;
}

// A test may take one argument without parentheses: x is divisibleby 3.
bool ExpressionParser::at_test_argument() const {
  switch (tokens_.now().type) {
    case TokenType::text:
    case TokenType::integer:
    case TokenType::real: return true;
    case TokenType::name: return !tokens_.at_name("else") && !tokens_.at_name("or") && !tokens_.at_name("and");
    default: return tokens_.at_sign("[") || tokens_.at_sign("{");
  }
}

ExpressionPtr ExpressionParser::test(ExpressionPtr operand) {
  auto node = std::make_unique<Test>(tokens_.take().line);
  const bool negated = tokens_.take_name("not");
  node->operand = std::move(operand);
  node->name = dotted_name("the name of a test");
  if (tokens_.at_sign("(")) {
    node->arguments = arguments();
  } else if (at_test_argument()) {
    if (tokens_.at_name("is")) tokens_.refuse("You cannot chain multiple tests with is");
    const TokenReader::Nested nested(tokens_);
    node->arguments.values.push_back(postfix(primary()));
  }
  const Test& made = *node;
  ExpressionPtr result = finished_call(std::move(node), made.operand.get(), made.arguments);
  if (!negated) return result;
  auto opposite = std::make_unique<Not>(result->line);
  opposite->operand = std::move(result);
  const Expression* child = opposite->operand.get();
  return finished(std::move(opposite), {child});
}

ExpressionPtr ExpressionParser::primary() {
  switch (tokens_.now().type) {
    case TokenType::name: return literal_name();
    case TokenType::text: return text_literal();
    case TokenType::integer:
    case TokenType::real: return number_literal();
    default: break;
  }
  if (tokens_.at_sign("(")) return parenthesized();
  if (tokens_.at_sign("[")) return list_literal();
  if (tokens_.at_sign("{")) return mapping_literal();
  tokens_.expected("an expression");
}

ExpressionPtr ExpressionParser::literal_name() {
  const Token& token = tokens_.take();
  if (token.value == "true" || token.value == "True") return constant(token.line, true);
  if (token.value == "false" || token.value == "False") return constant(token.line, false);
  if (token.value == "none" || token.value == "None") return constant(token.line, Value());
  auto node = std::make_unique<Name>(token.line);
  node->name = token.value;
  names_seen.insert(token.value);
  return node;
}

ExpressionPtr ExpressionParser::text_literal() {
  const int line = tokens_.line();
  std::string text;
  while (tokens_.at(TokenType::text)) text += tokens_.take().value;  // neighbours join
  return constant(line, constant_text(std::move(text)));
}

ExpressionPtr ExpressionParser::number_literal() {
  const Token& token = tokens_.take();
  if (token.type == TokenType::real) return constant(token.line, read_real(token.value).value_or(0));
  const auto whole = read_whole(token.value, 0);
  if (!whole)
    refuse_template(token.line, fmt::format("the number {} is beyond 127 bits", std::string_view(token.value).substr(0, 60)));
  return constant(token.line, *whole);
}

bool ExpressionParser::ends_tuple(bool with_if) const {
  return tokens_.at(TokenType::print_end) || tokens_.at(TokenType::block_end) || tokens_.at_sign(")") ||
         (!with_if && (tokens_.at_name("if") || tokens_.at_name("recursive")));
}

ExpressionPtr ExpressionParser::tuple_or_expression(bool with_if) {
  const int line = tokens_.line();
  const auto item = [&] { return with_if ? expression() : expression_without_if(); };
  if (ends_tuple(with_if)) tokens_.expected("an expression");
  ExpressionPtr first = item();
  if (!tokens_.at_sign(",")) return first;
  auto node = std::make_unique<SequenceLiteral>(line);
  node->type = SequenceType::tuple;
  node->items.push_back(std::move(first));
  while (tokens_.take_sign(",") && !ends_tuple(with_if)) node->items.push_back(item());
  const SequenceLiteral& made = *node;
  return finished_list(std::move(node), made.items);
}

ExpressionPtr ExpressionParser::parenthesized() {
  const int line = tokens_.take().line;
  if (tokens_.take_sign(")")) {
    auto node = std::make_unique<SequenceLiteral>(line);
    node->type = SequenceType::tuple;
    return node;
  }
  ExpressionPtr inside = tuple_or_expression();
  tokens_.need_sign(")");
  return inside;
}

ExpressionPtr ExpressionParser::list_literal() {
  auto node = std::make_unique<SequenceLiteral>(tokens_.take().line);
  while (!tokens_.at_sign("]")) {
    if (!node->items.empty()) tokens_.need_sign(",");
    if (tokens_.at_sign("]")) break;
    node->items.push_back(expression());
  }
  tokens_.need_sign("]");
  const SequenceLiteral& made = *node;
  return finished_list(std::move(node), made.items);
}

ExpressionPtr ExpressionParser::mapping_literal() {
  auto node = std::make_unique<MappingLiteral>(tokens_.take().line);
  int depth = 0;
  while (!tokens_.at_sign("}")) {
    if (!node->entries.empty()) tokens_.need_sign(",");
    if (tokens_.at_sign("}")) break;
    ExpressionPtr key = expression();
    tokens_.need_sign(":");
    ExpressionPtr value = expression();
    depth = std::max({depth, key->depth, value->depth});
    node->entries.emplace_back(std::move(key), std::move(value));
  }
  tokens_.need_sign("}");
  node->depth = depth + 1;
  return finished(std::move(node), {});
}

}  // namespace conclave::jinja
