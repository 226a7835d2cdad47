#include "quant/config_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/json.h"

namespace conclave {

std::string short_json(const Json& value) {
  constexpr std::size_t kLongest = 80;
  if (value.is_object() || (value.is_array() && value.size() > 16))
    return fmt::format("{} of {} entries", value.is_object() ? "an object" : "a list", value.size());
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

ConfigFields::ConfigFields(const Json& object, std::string path, std::vector<std::string>& problems)
    : object_(object.is_object() ? &object : nullptr), path_(std::move(path)), problems_(problems) {
  if (object_ == nullptr) problems_.push_back(fmt::format("{} = {}: expected an object", path_, short_json(object)));
}

const Json* ConfigFields::find(std::string_view key) {
  known_.emplace(key);
  if (object_ == nullptr) return nullptr;
  const auto it = object_->find(key);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

void ConfigFields::problem(std::string_view key, std::string_view words) {
  const Json* value = find(key);
  problems_.push_back(value == nullptr ? fmt::format("{}.{}: {}", path_, key, words)
                                       : fmt::format("{}.{} = {}: {}", path_, key, short_json(*value), words));
}

std::string ConfigFields::text(std::string_view key, std::string fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  problem(key, "expected a string");
  return fallback;
}

std::int64_t ConfigFields::integer(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const bool fits = value->is_number_unsigned() ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX)
                                                : value->is_number_integer();
  if (fits && value->get<std::int64_t>() >= low && value->get<std::int64_t>() <= high) return value->get<std::int64_t>();
  problem(key, fmt::format("expected an integer from {} to {}", low, high));
  return fallback;
}

bool ConfigFields::boolean(std::string_view key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  problem(key, "expected true or false");
  return fallback;
}

std::vector<std::string> ConfigFields::texts(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  if (value->is_array())
    for (const Json& entry : *value)
      if (entry.is_string()) out.push_back(entry.get<std::string>());
  if (!value->is_array() || out.size() != value->size()) problem(key, "expected a list of strings");
  return out;
}

void ConfigFields::only(std::string_view key, std::initializer_list<Json> allowed, std::string_view why) {
  const Json* value = find(key);
  if (value == nullptr || std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return;
  std::string words(why);
  if (words.empty()) {
    for (const Json& a : allowed) words += (words.empty() ? "supported: " : ", ") + short_json(a);
  }
  problem(key, words);
}

void ConfigFields::ignore(std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) known_.emplace(key);
}

void ConfigFields::refuse_the_rest() {
  if (object_ == nullptr) return;
  for (const auto& [key, value] : object_->items()) {
    const bool says_nothing = value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
                              ((value.is_string() || value.is_structured()) &&
                               (value.is_string() ? value.get_ref<const std::string&>().empty() : value.empty()));
    if (says_nothing || known_.contains(key)) continue;
    problems_.push_back(
        fmt::format("{}.{} = {}: this key is not known here and may change what the weights mean", path_, key, short_json(value)));
  }
}

}  // namespace conclave
