#pragma once
// Values of the template interpreter: Python's objects, as far as a chat template can tell them apart. Text, sequences and
// mappings never change once made and are shared; only objects (namespace, loop, generator) have state.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace conclave::jinja {

// Python's int as far as 127 bits reach; beyond them arithmetic is an error.
__extension__ typedef __int128 Int;
inline constexpr Int kMostInt = (Int{1} << 126) - 1 + (Int{1} << 126);

class Runtime;
class Object;
class Value;
struct Args;

// Bytes that the living values of one render hold together.
struct Account {
  std::size_t held = 0;
};

// A value's share of the account, given back when the value dies. Constants of a template belong to no account.
class Held {
 public:
  Held() = default;
  Held(Account* account, std::size_t bytes) : account_(account), bytes_(bytes) {
    if (account_ != nullptr) account_->held += bytes_;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (account_ != nullptr) account_->held -= bytes_;
  }

 private:
  Account* account_ = nullptr;
  std::size_t bytes_ = 0;
};

// str. `markup` is markupsafe's Markup, made by |safe and |escape: adding plain text to it escapes that text.
struct Text {
  std::string utf8;    // valid
  std::size_t length;  // in characters
  bool markup = false;
  Held held;

  bool ascii() const { return length == utf8.size(); }
};

// What cannot be found. Prints as nothing, iterates as empty; anything else done with it fails with these words.
struct Missing {
  std::string words;
};

struct Sequence;
struct Mapping;

enum class Kind { none, boolean, integer, real, text, sequence, mapping, object, missing };

class Value {
 public:
  Value() = default;  // None
  template <std::same_as<bool> T>
  Value(T truth) : data_(truth) {}
  template <std::same_as<double> T>
  Value(T number) : data_(number) {}
  Value(Int number) : data_(number) {}
  Value(std::shared_ptr<const Text> text) : data_(std::move(text)) {}
  Value(std::shared_ptr<const Sequence> sequence) : data_(std::move(sequence)) {}
  Value(std::shared_ptr<const Mapping> mapping) : data_(std::move(mapping)) {}
  Value(std::shared_ptr<Object> object) : data_(std::move(object)) {}
  Value(std::shared_ptr<const Missing> missing) : data_(std::move(missing)) {}

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool boolean() const { return std::get<bool>(data_); }
  Int integer() const { return std::get<Int>(data_); }
  double real() const { return std::get<double>(data_); }
  const Text& text() const { return *std::get<std::shared_ptr<const Text>>(data_); }
  const Sequence& sequence() const { return *std::get<std::shared_ptr<const Sequence>>(data_); }
  const Mapping& mapping() const { return *std::get<std::shared_ptr<const Mapping>>(data_); }
  Object& object() const { return *std::get<std::shared_ptr<Object>>(data_); }
  const Missing& missing() const { return *std::get<std::shared_ptr<const Missing>>(data_); }

  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
  bool is_whole() const { return is(Kind::boolean) || is(Kind::integer); }
  Int whole() const { return is(Kind::boolean) ? Int{boolean()} : integer(); }              // needs is_whole()
  double number() const { return is(Kind::real) ? real() : static_cast<double>(whole()); }  // needs is_number()
  bool same_as(const Value& other) const;                                                   // Python's `is`
  int depth() const;  // containers nested in one another, this one included

 private:
  std::variant<std::monostate, bool, Int, double, std::shared_ptr<const Text>, std::shared_ptr<const Sequence>,
               std::shared_ptr<const Mapping>, std::shared_ptr<Object>, std::shared_ptr<const Missing>>
      data_;
};

using Values = std::vector<Value>;
using Entry = std::pair<Value, Value>;
using Next = std::function<std::optional<Value>()>;  // an iterator: nothing means the end

// `group` is the (grouper, list) tuple of |groupby; the last three are dict's views.
enum class SequenceType { list, tuple, group, keys, values, items };

struct Sequence {
  SequenceType type;
  Values items;
  int depth;
  Held held;

  bool is_view() const { return type >= SequenceType::keys; }
  bool is_tuple() const { return type == SequenceType::tuple || type == SequenceType::group; }
};

// dict, in order of insertion.
struct Mapping {
  std::vector<Entry> entries;
  std::vector<std::pair<std::size_t, std::uint32_t>> index;  // (hash of key, place in entries), sorted
  int depth = 1;
  Held held;

  const Value* find(std::string_view key) const;        // null when absent
  const Value* find(Runtime&, const Value& key) const;  // fails when the key is not hashable
};

// Everything with state or behaviour of its own.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;  // as Python prints it
  virtual std::string repr(Runtime&) { return "<" + type_name() + " object>"; }
  virtual std::optional<Value> attribute(Runtime&, const Value& /*self*/, std::string_view /*name*/) { return std::nullopt; }
  virtual std::optional<Value> item(Runtime&, const Value& /*key*/) { return std::nullopt; }
  virtual bool callable() const { return false; }
  virtual Value call(Runtime&, const Args&);
  virtual Next iterate(Runtime&, const Value& /*self*/) { return nullptr; }  // null when not iterable
  virtual std::optional<std::size_t> length(Runtime&) { return std::nullopt; }
  virtual int depth() const { return 0; }
};

}  // namespace conclave::jinja
