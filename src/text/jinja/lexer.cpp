#include "text/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conclave/error.h"
#include "text/jinja/string_literal.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace conclave::jinja {

void refuse_template(int line, std::string_view words) {
  throw Error(Errc::corrupt, fmt::format("chat template line {}: {}", line, words));
}

namespace {

// CRLF and CR become LF, and one newline at the end goes.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t begin = next_tag();
      if (begin == std::string::npos) {
        add_data(source_.substr(at_));
        break;
      }
      data_before(begin);
    }
    tokens_.push_back({TokenType::end, "", line_});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  void move_to(std::size_t end) {
    line_ += static_cast<int>(
        std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_), source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
    if (end > 0) line_starting_ = source_[end - 1] == '\n';
  }

  std::size_t next_tag() const {
    for (std::size_t i = source_.find('{', at_); i != std::string::npos; i = source_.find('{', i + 1)) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return i;
    }
    return std::string::npos;
  }

  void add_data(std::string_view text) {
    if (!text.empty()) tokens_.push_back({TokenType::data, std::string(text), line_});
  }

  // The text before a tag, with what the tag strips from its end.
  std::string_view stripped(std::string_view text, char sign, bool is_print) const {
    if (sign == '-') return drop_trailing_space(text);
    if (sign == '+' || is_print) return text;
    const std::size_t line = text.rfind('\n') + 1;  // 0 when there is none
    const bool blank = drop_trailing_space(text.substr(line)).empty();
    return blank && (line > 0 || line_starting_) ? text.substr(0, line) : text;
  }

  void data_before(std::size_t begin) {
    const char kind = source_[begin + 1];
    const char after = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
    const char sign = after == '-' || after == '+' ? after : '\0';
    add_data(stripped(std::string_view(source_).substr(at_, begin - at_), sign, kind == '{'));
    const std::size_t raw = kind == '%' ? after_raw_tag(begin, "raw", false) : std::string::npos;
    move_to(raw != std::string::npos ? raw : begin + (sign != '\0' ? 3 : 2));
    if (raw != std::string::npos) {
      raw_text();
    } else if (kind == '#') {
      comment();
    } else {
      tokens_.push_back({kind == '%' ? TokenType::block_begin : TokenType::print_begin, "", line_});
      tag(kind == '%' ? '%' : '}', kind == '%' ? TokenType::block_end : TokenType::print_end);
    }
  }

  std::size_t after_space(std::size_t at) const { return source_.size() - skip_space(std::string_view(source_).substr(at)).size(); }

  // Where a tag ends that begins at `at` and says only `word`; npos when it does not.
  std::size_t after_raw_tag(std::size_t at, std::string_view word, bool trim) const {
    at += 2;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
    at = after_space(at);
    if (source_.compare(at, word.size(), word) != 0) return std::string::npos;
    at = after_space(at + word.size());
    const bool strips = source_.compare(at, 3, "-%}") == 0;
    if (!strips && source_.compare(at, 2, "%}") != 0 && !(trim && source_.compare(at, 3, "+%}") == 0)) return std::string::npos;
    if (strips) return after_space(at + 3);
    const bool keeps = source_[at] == '+';
    at += keeps ? 3 : 2;
    return trim && !keeps && at < source_.size() && source_[at] == '\n' ? at + 1 : at;
  }

  void raw_text() {
    for (std::size_t begin = source_.find("{%", at_); begin != std::string::npos; begin = source_.find("{%", begin + 1)) {
      const std::size_t end = after_raw_tag(begin, "endraw", true);
      if (end == std::string::npos) continue;
      add_data(stripped(std::string_view(source_).substr(at_, begin - at_), source_[begin + 2], false));
      return move_to(end);
    }
    refuse_template(line_, "Missing end of raw directive");
  }

  void comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse_template(line_, "Missing end of comment tag");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    move_to(after_tag_end(end + 2, sign == '-', sign != '+'));
  }

  std::size_t after_tag_end(std::size_t end, bool strips, bool trims) const {
    if (strips) return after_space(end);
    return trims && end < source_.size() && source_[end] == '\n' ? end + 1 : end;
  }

  // Inside {{ }} or {% %}: `closing` is the character before the last brace.
  void tag(char closing, TokenType end_type) {
    while (at_ < source_.size()) {
      if (open_.empty() && tag_end(closing, end_type)) return;
      const std::size_t spaced = after_space(at_);
      if (spaced != at_) {
        move_to(spaced);
      } else {
        token();
      }
    }
    refuse_template(line_, open_.empty() ? "the template ends within a tag"
                                         : fmt::format("the template ends within a tag, where '{}' was expected", open_.back()));
  }

  bool tag_end(char closing, TokenType end_type) {
    const bool block = closing == '%';
    const bool signed_end = (peek() == '-' || (block && peek() == '+')) && peek(1) == closing && peek(2) == '}';
    if (!signed_end && !(peek() == closing && peek(1) == '}')) return false;
    tokens_.push_back({end_type, "", line_});
    const std::size_t end = at_ + (signed_end ? 3 : 2);
    move_to(after_tag_end(end, signed_end && peek() == '-', block && !signed_end));
    return true;
  }

  void token() {
    const char c = peek();
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') return text();
    std::size_t next = at_;
    if (is_word(next_character(source_, next))) return name();
    sign();
  }

  // Digits with single underscores between them, from `at` on; where they end.
  std::size_t digits_end(std::size_t at, std::string_view digits) const {
    const auto is_one = [&](std::size_t i) { return i < source_.size() && digits.find(source_[i]) != std::string_view::npos; };
    while (is_one(at) || (at < source_.size() && source_[at] == '_' && is_one(at + 1))) ++at;
    return at;
  }

  void number() {
    static constexpr std::string_view kDecimal = "0123456789";
    const std::size_t begin = at_;
    std::size_t end = digits_end(at_, kDecimal);
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';
    const auto digit_at = [&](std::size_t i) { return i < source_.size() && is_digit(source_[i]); };
    bool real = false;
    if (!after_dot) {
      std::size_t real_end = end;
      if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) real_end = digits_end(end + 1, kDecimal);
      if (real_end < source_.size() && (source_[real_end] == 'e' || source_[real_end] == 'E')) {
        const std::size_t exponent =
            real_end + (real_end + 1 < source_.size() && (source_[real_end + 1] == '+' || source_[real_end + 1] == '-') ? 2 : 1);
        if (digit_at(exponent)) real_end = digits_end(exponent, kDecimal);
      }
      real = real_end != end;
      end = real_end;
    }
    if (!real && source_[begin] == '0') end = whole_end_after_zero(begin);
    add(real ? TokenType::real : TokenType::integer, end);
  }

  // 0x1f, 0o17, 0b11, or nothing but zeros.
  std::size_t whole_end_after_zero(std::size_t begin) const {
    const char kind = begin + 1 < source_.size() ? static_cast<char>(source_[begin + 1] | 0x20) : '\0';
    const std::string_view digits = kind == 'x' ? "0123456789abcdefABCDEF" : kind == 'o' ? "01234567" : kind == 'b' ? "01" : "";
    const std::size_t end = digits.empty() ? begin : digits_end(begin + 2, digits);
    return end > begin + 2 ? end : digits_end(begin, "0");
  }

  void name() {
    std::size_t end = at_;
    while (end < source_.size()) {
      std::size_t next = end;
      const char32_t c = next_character(source_, next);
      if (!is_word(c)) break;
      end = next;
    }
    add(TokenType::name, end);
  }

  void text() {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != source_[at_]) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) refuse_template(line_, fmt::format("unexpected char '{}': the string has no end", source_[at_]));
    std::string value = unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1), line_);
    tokens_.push_back({TokenType::text, std::move(value), line_});
    move_to(end + 1);
  }

  void add(TokenType type, std::size_t end) {
    tokens_.push_back({type, source_.substr(at_, end - at_), line_});
    move_to(end);
  }

  void sign() {
    static constexpr std::array<std::string_view, 26> kSigns = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                                "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                                ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto found = std::find_if(kSigns.begin(), kSigns.end(), [&](std::string_view s) { return rest().starts_with(s); });
    if (found == kSigns.end()) {
      std::size_t end = at_;
      next_character(source_, end);
      refuse_template(line_, fmt::format("unexpected char '{}'", source_.substr(at_, end - at_)));
    }
    balance(found->front());
    add(TokenType::sign, at_ + found->size());
  }

  // Within brackets a }} or %} does not end the tag.
  void balance(char c) {
    switch (c) {
      case '(': open_ += ')'; return;
      case '[': open_ += ']'; return;
      case '{': open_ += '}'; return;
      case ')':
      case ']':
      case '}': break;
      default: return;
    }
    if (open_.empty()) refuse_template(line_, fmt::format("unexpected '{}'", c));
    if (open_.back() != c) refuse_template(line_, fmt::format("unexpected '{}', expected '{}'", c, open_.back()));
    open_.pop_back();
  }

  const std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // what was read last ended with a newline
  std::string open_;           // brackets that close the ones now open
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  constexpr std::size_t kMostSource = std::size_t{4} << 20;  // real ones have up to 30 KB
  if (source.size() > kMostSource)
    refuse_template(1, fmt::format("{} bytes are more than {} MiB", source.size(), kMostSource >> 20));
  if (!is_valid_utf8(source)) refuse_template(1, "is not UTF-8");
  return Lexer(normalized(source)).run();
}

}  // namespace conclave::jinja
