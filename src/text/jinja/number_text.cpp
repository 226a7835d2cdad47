#include "text/jinja/number_text.h"

#include <charconv>
#include <limits>
#include <string>

#include "text/jinja/unicode.h"

namespace conclave::jinja {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

Int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  switch (text[1]) {
    case 'x':
    case 'X': return 16;
    case 'o':
    case 'O': return 8;
    case 'b':
    case 'B': return 2;
    default: return 0;
  }
}

// Without the underscores that may stand between digits; nothing when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || digit_of(text[i - 1]) > 35 || digit_of(text[i + 1]) > 35) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

std::optional<Int> read_whole(std::string_view text, Int base) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) negative = text.front() == '-', text.remove_prefix(1);
  const Int prefix = prefix_base(text);
  if (prefix != 0 && (base == 0 || base == prefix)) {
    base = prefix;
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
  }
  if (base == 0) {
    if (text.size() > 1 && text.front() == '0' && text.find_first_not_of("0_") != std::string_view::npos) return std::nullopt;
    base = 10;
  }
  const auto digits = without_underscores(text);
  if (!digits || digits->empty() || base < 2 || base > 36) return std::nullopt;
  Int value = 0;
  for (const char c : *digits) {
    const Int digit = digit_of(c);
    if (digit >= base || value > (kMostInt - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return negative ? -value : value;
}

std::optional<double> read_real(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) negative = text.front() == '-', text.remove_prefix(1);
  double value = 0;
  const std::string word = lower(text.substr(0, 10));
  if (word == "inf" || word == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (word == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto digits = without_underscores(text);
    if (!digits || digits->empty() || (digit_of(digits->front()) > 9 && digits->front() != '.')) return std::nullopt;
    const auto [end, problem] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
    if (end != digits->data() + digits->size() || problem == std::errc::invalid_argument) return std::nullopt;
    if (problem == std::errc::result_out_of_range)
      value = lower(*digits).find("e-") == std::string::npos ? std::numeric_limits<double>::infinity() : 0.0;
  }
  return negative ? -value : value;
}

}  // namespace conclave::jinja
