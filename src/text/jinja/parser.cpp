#include "text/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/expression_parser.h"

namespace conclave::jinja {
namespace {

using StatementPtr = std::unique_ptr<const Statement>;
using Names = std::vector<std::string_view>;

bool is_among(std::string_view name, const Names& names) { return std::find(names.begin(), names.end(), name) != names.end(); }

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)), expressions_(tokens_) {}

  std::shared_ptr<const Template> run() {
    auto made = std::make_shared<Template>();
    made->body = body({});
    return made;
  }

 private:
  // Statements up to a tag that begins with one of `ends`, which is left to the caller (its name is the next token);
  // with no `ends`, up to the end of the template.
  Body body(const Names& ends) {
    const TokenReader::Nested nested(tokens_);
    Body out;
    while (!tokens_.at(TokenType::end)) {
      const int line = tokens_.line();
      if (tokens_.at(TokenType::data)) {
        auto data = std::make_unique<Data>(line);
        data->text = tokens_.take().value;
        out.push_back(std::move(data));
      } else if (tokens_.at(TokenType::print_begin)) {
        tokens_.take();
        out.push_back(print(line));
        tokens_.need(TokenType::print_end, "'}}'");
      } else {
        tokens_.take();
        if (!tokens_.at(TokenType::name)) tokens_.expected("the name of a statement");
        if (is_among(tokens_.now().value, ends)) return out;
        out.push_back(statement(ends));
        tokens_.need(TokenType::block_end, "'%}'");
      }
    }
    if (!ends.empty()) tokens_.refuse(fmt::format("the template ends where '{}' was expected", ends.back()));
    return out;
  }

  // The body of a statement whose tag has been read up to its end, and the tag `end` after it.
  Body body_until(std::string_view end) {
    tokens_.need(TokenType::block_end, "'%}'");
    Body out = body({end});
    tokens_.take();
    return out;
  }

  StatementPtr print(int line) {
    auto node = std::make_unique<Print>(line);
    node->value = expressions_.tuple_or_expression();
    return node;
  }

  StatementPtr statement(const Names& ends) {
    struct Kind {
      std::string_view name;
      StatementPtr (Parser::*parse)(int line);
    };
    static constexpr Kind kKinds[] = {
        {"if", &Parser::if_statement},       {"for", &Parser::for_statement},
        {"set", &Parser::set_statement},     {"macro", &Parser::macro_statement},
        {"call", &Parser::call_statement},   {"filter", &Parser::filter_statement},
        {"with", &Parser::with_statement},   {"break", &Parser::loop_control},
        {"continue", &Parser::loop_control}, {"generation", &Parser::generation_statement},
        {"print", &Parser::print},
    };
    const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return tokens_.at_name(k.name); });
    if (kind == std::end(kKinds)) refuse_tag(ends);
    const int line = tokens_.line();
    if (kind->parse != &Parser::loop_control) tokens_.take();
    return (this->*kind->parse)(line);
  }

  [[noreturn]] void refuse_tag(const Names& ends) const {
    static constexpr std::string_view kOutside[] = {"include", "import", "from", "extends", "block", "autoescape", "do", "trans"};
    const std::string& name = tokens_.now().value;
    if (std::find(std::begin(kOutside), std::end(kOutside), name) != std::end(kOutside)) {
      tokens_.refuse(fmt::format("the statement '{}' is outside the subset of Jinja that chat templates use", name));
    }
    tokens_.refuse(ends.empty() ? fmt::format("Encountered unknown tag '{}'", name)
                                : fmt::format("Encountered unknown tag '{}', expected '{}'", name, ends.back()));
  }

  StatementPtr if_statement(int line) {
    auto node = std::make_unique<If>(line);
    while (true) {
      ExpressionPtr condition = expressions_.tuple_or_expression();
      tokens_.need(TokenType::block_end, "'%}'");
      Body then = body({"elif", "else", "endif"});
      node->branches.emplace_back(std::move(condition), std::move(then));
      const std::string word = tokens_.take().value;
      if (word == "elif") continue;
      if (word == "else") node->otherwise = body_until("endif");
      return node;
    }
  }

  StatementPtr for_statement(int line) {
    auto node = std::make_unique<For>(line);
    node->target = target(false);
    if (!tokens_.take_name("in")) tokens_.expected("'in'");
    node->iterable = expressions_.tuple_or_expression(false);
    if (tokens_.take_name("if")) node->condition = expressions_.expression();
    node->recursive = tokens_.take_name("recursive");
    tokens_.need(TokenType::block_end, "'%}'");
    ++loops_;
    node->body = body({"else", "endfor"});
    --loops_;
    if (tokens_.take().value == "else") node->otherwise = body_until("endfor");
    return node;
  }

  StatementPtr loop_control(int line) {
    auto node = std::make_unique<LoopControl>(line);
    const std::string& word = tokens_.take().value;
    if (loops_ == 0) refuse_template(line, fmt::format("'{}' outside a loop", word));
    node->flow = word == "break" ? Flow::break_loop : Flow::continue_loop;
    return node;
  }

  StatementPtr set_statement(int line) {
    Target to = target(true);
    if (tokens_.take_sign("=")) {
      auto node = std::make_unique<Set>(line);
      node->target = std::move(to);
      node->value = expressions_.tuple_or_expression();
      return node;
    }
    auto node = std::make_unique<SetBlock>(line);
    node->target = std::move(to);
    node->filters = expressions_.block_filters(false);
    node->body = body_until("endset");
    return node;
  }

  StatementPtr filter_statement(int line) {
    auto node = std::make_unique<FilterBlock>(line);
    node->filters = expressions_.block_filters(true);
    node->body = body_until("endfilter");
    return node;
  }

  StatementPtr with_statement(int line) {
    auto node = std::make_unique<With>(line);
    while (!tokens_.at(TokenType::block_end)) {
      if (!node->assignments.empty()) tokens_.need_sign(",");
      Target to = single_target(false);
      tokens_.need_sign("=");
      node->assignments.emplace_back(std::move(to), expressions_.expression());
    }
    node->body = body_until("endwith");
    return node;
  }

  StatementPtr macro_statement(int line) {
    auto node = std::make_unique<Macro>(line);
    node->signature.name = name_to_set();
    parameters(node->signature);
    signature_body(node->signature, "endmacro");
    return node;
  }

  StatementPtr call_statement(int line) {
    auto node = std::make_unique<CallBlock>(line);
    if (tokens_.at_sign("(")) parameters(node->caller);
    ExpressionPtr call = expressions_.expression();
    if (dynamic_cast<const Call*>(call.get()) == nullptr) refuse_template(line, "expected call");
    node->call.reset(static_cast<const Call*>(call.release()));
    signature_body(node->caller, "endcall");
    return node;
  }

  StatementPtr generation_statement(int line) {
    auto node = std::make_unique<CallBlock>(line);
    signature_body(node->caller, "endgeneration");
    return node;
  }

  void parameters(Signature& signature) {
    tokens_.need_sign("(");
    while (!tokens_.at_sign(")")) {
      if (!signature.parameters.empty()) tokens_.need_sign(",");
      signature.parameters.push_back(name_to_set());
      if (tokens_.take_sign("=")) {
        signature.defaults.push_back(expressions_.expression());
      } else if (!signature.defaults.empty()) {
        tokens_.refuse("non-default argument follows default argument");
      }
    }
    tokens_.take();
  }

  // A body that runs as a function: loops around it are none of its business, and which of the special names it reads
  // decides what it accepts. What an inner function reads counts for the outer one too.
  void signature_body(Signature& signature, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    auto outer = std::exchange(expressions_.names_seen, {});
    signature.body = body_until(end);
    const auto& seen = expressions_.names_seen;
    signature.uses_caller = seen.contains("caller");
    signature.uses_values = seen.contains("varargs");
    signature.uses_named = seen.contains("kwargs");
    expressions_.names_seen.merge(outer);
    loops_ = loops;
  }

  std::string name_to_set() {
    const Token& token = tokens_.need(TokenType::name, "a name");
    if (is_among(token.value, {"true", "false", "none", "True", "False", "None"})) {
      refuse_template(token.line, fmt::format("can't assign to '{}'", token.value));
    }
    return token.value;
  }

  // One name, ns.name, or a tuple in parentheses.
  Target single_target(bool with_namespace) {
    const TokenReader::Nested nested(tokens_);
    Target out;
    if (tokens_.take_sign("(")) {
      out = target(with_namespace);
      tokens_.need_sign(")");
      return out;
    }
    out.name = name_to_set();
    if (with_namespace && tokens_.take_sign(".")) out.attribute = tokens_.need(TokenType::name, "a name").value;
    return out;
  }

  Target target(bool with_namespace) {
    Target first = single_target(with_namespace);
    if (!tokens_.at_sign(",")) return first;
    Target all;
    all.parts.push_back(std::move(first));
    while (tokens_.take_sign(",") && (tokens_.at(TokenType::name) || tokens_.at_sign("(")) && !tokens_.at_name("in")) {
      all.parts.push_back(single_target(with_namespace));
    }
    return all;
  }

  TokenReader tokens_;
  ExpressionParser expressions_;
  int loops_ = 0;  // around what is being read
};

}  // namespace

std::shared_ptr<const Template> parse_template(std::string_view source) { return Parser(source).run(); }

}  // namespace conclave::jinja
