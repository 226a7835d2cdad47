#pragma once
// The character sets of an Oniguruma pattern ([...], \w, \p{...}, [:alpha:]) written for PCRE2. See onig_pattern.h.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/error.h"

namespace conclave {

// A pattern and the place reached in it. Its errors quote the pattern and its path.
class PatternReader {
 public:
  PatternReader(std::string_view pattern, const std::string& path) : pattern_(pattern), path_(path) {}

  bool done() const { return at_ == pattern_.size(); }
  char peek() const { return pattern_[at_]; }
  char peek_or_end() const { return done() ? '\0' : pattern_[at_]; }
  bool starts_with(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  char take() { return pattern_[at_++]; }
  bool take_if(std::string_view text);
  // Up to and with `end`; throws when it does not come.
  std::string_view take_until(std::string_view end);
  char32_t take_character();
  // After a backslash: the one character meant (\n, \x{41}, \], ...). Throws Error{unsupported} for anything else.
  char32_t take_escaped_character();

  struct Interval {
    int least = 0;
    std::optional<int> most;
    bool exact = false;  // {n}
  };
  // {n} {n,} {n,m} {,m}; nothing is taken when there is none.
  std::optional<Interval> take_interval();

  Error corrupt(std::string_view words) const;
  Error unsupported(std::string_view what) const;

 private:
  char32_t take_hex(std::size_t most_digits);

  std::string_view pattern_;
  std::string_view path_;
  std::size_t at_ = 0;
};

// A set of characters: what can stand in one PCRE2 class, and what needs a class of its own.
struct CharacterSet {
  std::string members;               // inside of a [...]
  std::vector<std::string> classes;  // whole expressions for one character each
  bool negated = false;

  std::string render() const;
};

// At the character after a backslash: \s \S \w \W \d \D \h \H \p{..} \P{..}; nothing is taken for any other.
// `alone`: outside of a class.
std::optional<CharacterSet> translate_set_escape(PatternReader& in, bool alone);

// What \w and \p{Word} are outside of a class, and what \b goes by. Inside of one they lack the superscript digits and
// fractions of Latin-1 at its end: Oniguruma has a table of its own for single characters of Latin-1.
inline constexpr std::string_view kLoneWordMembers = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";

// At '[': the whole class, nested ones and && included.
std::string translate_class(PatternReader& in);

// One character, fit for the inside and the outside of a class.
std::string class_literal(char32_t character);

}  // namespace conclave
