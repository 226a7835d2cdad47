#pragma once
// The "normalizer" of tokenizer.json: what happens to the text before it is cut into pieces.
#include <functional>
#include <string>
#include <vector>

#include "io/json_fwd.h"

namespace conclave {

class Normalizer {
 public:
  // nullptr means no normalizer. Known: Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, StripAccents,
  // ByteLevel. Throws Error{corrupt}, and Error{unsupported} for any other.
  static Normalizer from_json(const Json*, const std::string& path);

  // `text` is valid UTF-8, and so is the result. Thread-safe. Throws Error{bad_input}, see Regex::for_each_match.
  std::string apply(std::string text) const;
  bool empty() const { return steps_.empty(); }

 private:
  using Step = std::function<std::string(std::string)>;
  void add(const Json&, const std::string& path);
  std::vector<Step> steps_;
};

}  // namespace conclave
