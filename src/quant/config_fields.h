#pragma once
// One JSON object of a quantisation configuration, read strictly: a key that nobody asked for may change what the weights mean, so
// it is a problem, and so is a value that is not one of the known. Problems are collected by key and value.
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace conclave {

class ConfigFields {
 public:
  // `path` names the object in messages ("quantization_config"). Anything but an object is a problem, and reads as an empty one.
  ConfigFields(const Json& object, std::string path, std::vector<std::string>& problems);

  // Null when the key is absent or its value is null. The key counts as known from now on.
  const Json* find(std::string_view key);
  // Absent: `fallback`. A value of another type is a problem.
  std::string text(std::string_view key, std::string fallback = {});
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t fallback);
  bool boolean(std::string_view key, bool fallback);
  std::vector<std::string> texts(std::string_view key);  // a list of strings; absent: empty

  // The key must be absent, null or one of these.
  void only(std::string_view key, std::initializer_list<Json> allowed, std::string_view why = {});
  // Keys that say nothing about how weights are read.
  void ignore(std::initializer_list<std::string_view> keys);
  // "path.key = value: words"
  void problem(std::string_view key, std::string_view words);
  // Every key that was not asked for is a problem, unless its value is empty (null, false, "", [] or {}).
  void refuse_the_rest();

  const std::string& path() const { return path_; }
  std::vector<std::string>& problems() { return problems_; }

 private:
  const Json* object_;  // null: not an object
  std::string path_;
  std::vector<std::string>& problems_;
  std::set<std::string, std::less<>> known_;
};

// At most about 80 characters of a value, for messages.
std::string short_json(const Json&);

}  // namespace conclave
