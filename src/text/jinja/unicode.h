#pragma once
// What Python's str knows about characters: white space, case, classes; and places counted in characters.
#include <cstddef>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace conclave::jinja {

bool is_space(char32_t);      // str.isspace, also \s of a regular expression
bool is_line_end(char32_t);   // where str.splitlines breaks
bool is_printable(char32_t);  // shown as it is by repr
bool is_word(char32_t);       // \w
bool is_letter(char32_t);
bool is_decimal(char32_t);  // a digit of a decimal number, of any script
bool is_lower(char32_t);
bool is_upper(char32_t);
bool is_title(char32_t);

std::string upper(std::string_view);
std::string lower(std::string_view);
std::string title(std::string_view);  // str.title: each run of cased characters
std::string capitalize(std::string_view);
std::string swapcase(std::string_view);
std::string casefold(std::string_view);

std::string_view skip_space(std::string_view);  // without white space at the start
std::string_view drop_trailing_space(std::string_view);

std::size_t byte_of(const Text&, std::size_t character);  // where a character begins; the size where there is none
std::size_t count_characters(std::string_view utf8);

}  // namespace conclave::jinja
