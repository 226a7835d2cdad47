#pragma once
// A template's source as tokens. White space around tags is already settled here: trim_blocks (the newline after a block
// or comment goes), lstrip_blocks (so do blanks before one that begins its line), and the signs in {%- -%} {%+ +%}.
#include <string>
#include <string_view>
#include <vector>

namespace conclave::jinja {

enum class TokenType { data, print_begin, print_end, block_begin, block_end, name, text, integer, real, sign, end };

struct Token {
  TokenType type;
  std::string value;  // of text: without quotes and escapes
  int line;
};

// Throws Error{corrupt, "chat template line N: ..."}. The last token is `end`.
std::vector<Token> tokenize(std::string_view source);

[[noreturn]] void refuse_template(int line, std::string_view words);

}  // namespace conclave::jinja
