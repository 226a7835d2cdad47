#pragma once
// Tokens to expressions, by Jinja's precedence, loosest first: if-else, or, and, not, comparison, + -, ~, * / // %, **,
// sign, then what follows a value: . [] () | is.
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/token_reader.h"

namespace conclave::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenReader& tokens) : tokens_(tokens) {}

  ExpressionPtr expression();
  ExpressionPtr expression_without_if();
  ExpressionPtr tuple_or_expression(bool with_if = true);  // a, b without parentheses is a tuple
  ExpressionPtr primary();
  std::vector<FilterCall> block_filters(bool begins_inline);  // | a | b(c); begins_inline: the first | is left out
  Arguments arguments();

  // Names read so far: the macro parser wants to know of caller, varargs and kwargs.
  std::set<std::string, std::less<>> names_seen;

 private:
  struct ArithmeticSign {
    std::string_view text;
    Arithmetic::Apply apply;
  };

  ExpressionPtr chain(std::span<const ArithmeticSign> signs, ExpressionPtr (ExpressionParser::*operand)());
  ExpressionPtr logical(bool is_and);
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr powers();
  ExpressionPtr filtered_unary();
  ExpressionPtr unary();
  ExpressionPtr postfix(ExpressionPtr operand);
  ExpressionPtr postfix_filters(ExpressionPtr operand);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr dotted(ExpressionPtr object);
  ExpressionPtr call(ExpressionPtr callee);
  ExpressionPtr filter(ExpressionPtr operand);
  FilterCall filter_call();
  ExpressionPtr test(ExpressionPtr operand);
  ExpressionPtr literal_name();
  ExpressionPtr text_literal();
  ExpressionPtr number_literal();
  ExpressionPtr parenthesized();
  ExpressionPtr list_literal();
  ExpressionPtr mapping_literal();
  std::string dotted_name(std::string_view what);
  bool at_test_argument() const;
  bool ends_tuple(bool with_if) const;

  TokenReader& tokens_;
};

}  // namespace conclave::jinja
