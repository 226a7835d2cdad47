#pragma once
// Regular expressions of tokenizer.json are written for Oniguruma (its own syntax, UTF-8). This writes the same
// expression for PCRE2 (UTF, UCP, MULTILINE).
#include <string>
#include <string_view>

namespace conclave {

// What means something else to PCRE2 10.42 is rewritten: \s \w \b \h \v and POSIX classes (other character sets), scripts
// (\p{Han} is Script, not Script_Extensions), X{n,m}+ (a repeated repeat, not a possessive one), X{n}? (optional, not
// lazy), {,n}, (?m) (dot matches newline), nested classes and && in classes. Groups never capture: nothing refers to them.
// Throws Error{unsupported} for what has no known equal: back references, recursion, conditionals, callouts, absent
// operators, (?x), options in the middle of an alternative, \xHH bytes above 7F, unknown escapes; Error{corrupt} for a
// pattern cut short. `path` names the pattern's place. Two differences stay: a caseless "ss" does not match U+00DF (PCRE2
// folds character by character), and characters younger than the Unicode version of the PCRE2 library have no properties.
std::string onig_to_pcre2(std::string_view pattern, const std::string& path);

}  // namespace conclave
