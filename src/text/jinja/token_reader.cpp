#include "text/jinja/token_reader.h"

#include <fmt/format.h>

namespace conclave::jinja {

void TokenReader::expected(std::string_view what) const {
  const Token& token = now();
  switch (token.type) {
    case TokenType::end: refuse(fmt::format("expected {}, found the end of the template", what));
    case TokenType::data: refuse(fmt::format("expected {}, found text", what));
    case TokenType::print_begin:
    case TokenType::block_begin: refuse(fmt::format("expected {}, found the begin of a tag", what));
    case TokenType::print_end: refuse(fmt::format("expected {}, found '}}}}'", what));
    case TokenType::block_end: refuse(fmt::format("expected {}, found '%}}'", what));
    default: refuse(fmt::format("expected {}, found '{}'", what, std::string_view(token.value).substr(0, 100)));
  }
}

}  // namespace conclave::jinja
