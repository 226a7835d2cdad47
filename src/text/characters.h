#pragma once
// Properties of single characters, and the Unicode normal forms, as the tokenizers library has them.
#include <string>
#include <string_view>

namespace conclave {

bool is_whitespace(char32_t);   // the property White_Space
bool is_numeric(char32_t);      // general category N
bool is_punctuation(char32_t);  // general category P, or a punctuation mark or symbol of ASCII
bool is_nonspacing_mark(char32_t);
bool is_word(char32_t);  // \w of UTS 18: Alphabetic, M, Nd, Pc, Join_Control

// The full lower case of each character by itself (a sigma at the end of a word is not special).
std::string to_lower(std::string_view text);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
// Linear in the text, but for n log n in a run of combining marks.
std::string normalize(std::string_view text, NormalForm);

}  // namespace conclave
