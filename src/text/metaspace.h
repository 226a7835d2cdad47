#pragma once
// The fields that the pre-tokenizer and the decoder named Metaspace share.
#include <string>

#include "text/json_fields.h"

namespace conclave {

struct MetaspaceScheme {
  enum class Prepend { always, first, never };
  std::string replacement;  // the one character that stands for a space, "▁" by custom
  Prepend prepend = Prepend::always;

  // Reads replacement, prepend_scheme, and the older add_prefix_space (false = never). Throws Error{corrupt}.
  static MetaspaceScheme from_json(const JsonFields&);
};

}  // namespace conclave
