#include "text/json_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "conclave/error.h"
#include "io/json.h"

namespace conclave {
namespace {

Error wrong_type(const std::string& path, const char* expected, const Json& found) {
  return {Errc::corrupt, fmt::format("{}: expected {}, found {}", path, expected, found.type_name())};
}

}  // namespace

JsonFields::JsonFields(const Json& value, std::string path, std::initializer_list<std::string_view> known)
    : object_(&value), path_(std::move(path)) {
  if (!value.is_object()) throw wrong_type(path_, "an object", value);
  std::string unknown;
  for (const auto& [name, field] : value.items()) {
    if (name == "type" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    unknown += fmt::format("{}'{}'", unknown.empty() ? "" : ", ", name);
  }
  if (unknown.empty()) return;
  throw Error(Errc::unsupported,
              fmt::format("{}: unknown field {}; the known ones are: {}", path_, unknown, fmt::join(known, ", ")));
}

const Json* JsonFields::find(std::string_view name) const {
  const auto found = object_->find(std::string(name));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const Json& JsonFields::need(std::string_view name) const {
  const Json* field = find(name);
  if (field == nullptr) throw Error(Errc::corrupt, fmt::format("{}: the field '{}' is missing", path_, name));
  return *field;
}

bool JsonFields::flag(std::string_view name, bool otherwise) const {
  const Json* field = find(name);
  if (field == nullptr) return otherwise;
  if (!field->is_boolean()) throw wrong_type(path_of(name), "true or false", *field);
  return field->get<bool>();
}

std::size_t JsonFields::count(std::string_view name, std::size_t otherwise) const {
  const Json* field = find(name);
  if (field == nullptr) return otherwise;
  if (!field->is_number_unsigned()) throw wrong_type(path_of(name), "a whole number, 0 or more", *field);
  return field->get<std::size_t>();
}

std::string JsonFields::text(std::string_view name) const {
  const Json& field = need(name);
  if (!field.is_string()) throw wrong_type(path_of(name), "a string", field);
  return field.get<std::string>();
}

std::optional<std::string> JsonFields::optional_text(std::string_view name) const {
  if (find(name) == nullptr) return std::nullopt;
  return text(name);
}

const Json& JsonFields::array(std::string_view name) const {
  const Json& field = need(name);
  if (!field.is_array()) throw wrong_type(path_of(name), "an array", field);
  return field;
}

std::string component_type(const Json& component, const std::string& path) {
  if (!component.is_object()) throw wrong_type(path, "an object", component);
  const auto type = component.find("type");
  if (type == component.end() || !type->is_string()) {
    throw Error(Errc::corrupt, path + ": the component has no \"type\"");
  }
  return type->get<std::string>();
}

}  // namespace conclave
