#include "io/json_non_finite.h"

#include <algorithm>
#include <limits>

namespace conclave {
namespace {

constexpr std::string_view kNumberCharacters = "+-.0123456789eE";

// The position after the string that begins at `start` (a quote), or the end of the text when it does not end.
std::size_t skip_string(std::string_view text, std::size_t start) {
  for (std::size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.size();
}

bool begins_with_word(std::string_view text, std::string_view word) {
  // "NaN5" or "Infinity-1" must not become a number by the replacement.
  constexpr std::string_view kJoining = "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  return text.starts_with(word) && (text.size() == word.size() || kJoining.find(text[word.size()]) == std::string_view::npos);
}

}  // namespace

NonFiniteWords replace_non_finite(std::string_view text) {
  constexpr std::string_view kInfinity = "Infinity", kNan = "NaN";
  NonFiniteWords out;
  if (text.find(kInfinity) == std::string_view::npos && text.find(kNan) == std::string_view::npos) return out;

  std::size_t rank = 0;
  std::size_t number_end = 0;  // a word glued to a number, as in "1NaN", stays and is refused by the parser
  const auto replace = [&](std::size_t at, std::string_view word, std::string_view zero, double value) {
    if (out.text.empty()) out.text = text;
    out.text.replace(at, word.size(), zero);
    out.words.push_back({rank++, value});
    return at + word.size();
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (text[i] == '"') {
      i = skip_string(text, i);
    } else if (i != 0 && i == number_end) {  // NOLINT(bugprone-branch-clone): no word begins right behind a number
      ++i;
    } else if (begins_with_word(rest, kInfinity)) {
      i = replace(i, kInfinity, "0.000000", std::numeric_limits<double>::infinity());
    } else if (begins_with_word(rest, "-Infinity")) {
      i = replace(i, "-Infinity", "-0.000000", -std::numeric_limits<double>::infinity());
    } else if (begins_with_word(rest, kNan)) {
      i = replace(i, kNan, "0.0", std::numeric_limits<double>::quiet_NaN());
    } else if (text[i] == '-' || (text[i] >= '0' && text[i] <= '9')) {
      i = std::min(text.find_first_not_of(kNumberCharacters, i), text.size());
      number_end = i;
      ++rank;
    } else {
      ++i;
    }
  }
  return out;
}

}  // namespace conclave
