#pragma once
// The "post_processor" of tokenizer.json: the tokens put before and behind a text when special tokens are asked for.
#include <string>
#include <vector>

#include "io/json_fwd.h"
#include "text/vocabulary.h"

namespace conclave {

struct PostProcessor {
  std::vector<Token> prefix, suffix;

  // nullptr means none. Known: Sequence, TemplateProcessing (its "single" form; at most one), ByteLevel (which changes no
  // token). Throws Error{corrupt}, and Error{unsupported} for any other.
  static PostProcessor from_json(const Json*, const Vocabulary&, const std::string& path);
};

}  // namespace conclave
