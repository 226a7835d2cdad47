#pragma once
// The "pre_tokenizer" of tokenizer.json: it cuts the normalized text into the pieces that BPE never merges across.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_fwd.h"

namespace conclave {

// A text and the pieces of it that are left; pieces are in order and do not overlap, and none is empty.
struct Pieces {
  struct Span {
    std::size_t begin = 0, end = 0;
    bool opens_text = false;  // it holds the very first character of what was given to the tokenizer
  };
  std::string text;
  std::vector<Span> spans;

  std::string_view view(const Span& span) const { return std::string_view(text).substr(span.begin, span.end - span.begin); }
};

// One step; immutable, thread-safe.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  // Throws Error{bad_input}, see Regex::for_each_match.
  virtual void apply(Pieces&) const = 0;
};

class PreTokenizer {
 public:
  // nullptr means none: the text is one piece. Known: Sequence, Split, ByteLevel, Digits, Metaspace, Whitespace,
  // WhitespaceSplit, Punctuation, CharDelimiterSplit. Throws Error{corrupt}, and Error{unsupported} for any other.
  static PreTokenizer from_json(const Json*, const std::string& path);

  Pieces apply(std::string text, bool opens_text) const;

 private:
  std::vector<std::unique_ptr<const PreTokenizerStep>> steps_;
};

}  // namespace conclave
