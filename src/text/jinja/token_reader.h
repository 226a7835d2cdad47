#pragma once
// The parsers' view of the tokens: look, take, insist.
#include <string_view>
#include <vector>

#include "text/jinja/lexer.h"

namespace conclave::jinja {

class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int line() const { return now().line; }
  bool at(TokenType type) const { return now().type == type; }
  bool at_sign(std::string_view sign) const { return at(TokenType::sign) && now().value == sign; }
  bool at_name(std::string_view name) const { return at(TokenType::name) && now().value == name; }
  const Token& take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool take_sign(std::string_view sign) { return at_sign(sign) && (take(), true); }
  bool take_name(std::string_view name) { return at_name(name) && (take(), true); }
  const Token& need(TokenType type, std::string_view what) {
    if (!at(type)) expected(what);
    return take();
  }
  void need_sign(std::string_view sign) {
    if (!take_sign(sign)) expected("'" + std::string(sign) + "'");
  }
  [[noreturn]] void expected(std::string_view what) const;
  [[noreturn]] void refuse(std::string_view words) const { refuse_template(line(), words); }

  // Nested expressions and statements, bounded for the stack's sake.
  class Nested {
   public:
    explicit Nested(TokenReader& reader) : reader_(reader) {
      if (++reader_.nesting_ > kMostNesting) reader_.refuse("expressions or statements are nested too deep");
    }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested() { --reader_.nesting_; }

   private:
    TokenReader& reader_;
  };

 private:
  static constexpr int kMostNesting = 150;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace conclave::jinja
