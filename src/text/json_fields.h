#pragma once
// One JSON object of tokenizer.json read field by field: a wrong type is refused with the field's path, and a field
// that this build does not know is refused by name, since ignoring it could change the tokens.
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "io/json.h"

namespace conclave {

class JsonFields {
 public:
  // `path` says where the object stands ("tokenizer.json: decoder.decoders[2]"). "type" need not be among `known`.
  // Throws Error{corrupt} when `value` is not an object, Error{unsupported} for unknown fields (all of them named).
  JsonFields(const Json& value, std::string path, std::initializer_list<std::string_view> known);

  // The field, or nullptr when it is absent or null.
  const Json* find(std::string_view name) const;
  // The field, which must be there: Error{corrupt}.
  const Json& need(std::string_view name) const;

  bool flag(std::string_view name, bool otherwise) const;
  std::size_t count(std::string_view name, std::size_t otherwise) const;  // a whole number >= 0
  std::string text(std::string_view name) const;                          // must be there
  std::optional<std::string> optional_text(std::string_view name) const;
  // An array, which must be there.
  const Json& array(std::string_view name) const;

  std::string path_of(std::string_view name) const { return path_ + "." + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  const Json* object_;
  std::string path_;
};

// The "type" of a component; throws Error{corrupt} when it has none.
std::string component_type(const Json& component, const std::string& path);

}  // namespace conclave
