#pragma once
// Values as JSON text, as Python's json.dumps writes them.
#include <optional>
#include <string>

#include "text/jinja/runtime.h"

namespace conclave::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // of one level; absent: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

Value json_text(Runtime&, const Value&, const JsonStyle&);

}  // namespace conclave::jinja
