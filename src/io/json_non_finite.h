#pragma once
// Python's json writes Infinity, -Infinity and NaN as bare words, which JSON does not have. They are replaced by zeros of
// the same length before parsing, and put back by their rank among the numbers of the text.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

struct NonFiniteWords {
  struct Word {
    std::size_t rank;  // how many numbers come before it in the text
    double value;
  };
  std::vector<Word> words;  // by rank
  std::string text;         // with the words replaced, same length as the original; empty when there was none
};

// Words inside strings are left alone. Ranks are right wherever the resulting text is valid JSON.
NonFiniteWords replace_non_finite(std::string_view text);

}  // namespace conclave
