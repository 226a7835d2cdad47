#include "io/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/in_quotes.h"
#include "conclave/error.h"
#include "io/json_non_finite.h"

namespace conclave {
namespace {

// "config.json: line 3, column 14: <words>"; columns count characters from one.
[[noreturn]] void refuse(std::string_view what, std::string_view text, std::size_t offset, std::string_view words) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::string_view start_of_line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto column = std::count_if(start_of_line.begin(), start_of_line.end(), [](char c) { return (c & 0xc0) != 0x80; }) + 1;
  throw Error(Errc::corrupt, fmt::format("{}: line {}, column {}: {}", what, line, column, words));
}

// Text shown in a message: short, whatever the file holds.
std::string excerpt(std::string_view text) {
  constexpr std::size_t kMost = 160;
  if (text.size() <= kMost) return std::string(text);
  std::size_t end = kMost;
  while ((text[end] & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// Reads characters and lets the builder see how far the parser has come.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *seen_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** seen_;
};

// Receives the parser's events and builds the value; a method that returns false stops the parser, with problem() set.
template <class Value>
class Builder {
 public:
  Builder(const JsonLimits& limits, const NonFiniteWords& non_finite) : limits_(limits), non_finite_(non_finite) {}

  bool null() { return put(nullptr) != nullptr; }
  bool boolean(bool value) { return put(value) != nullptr; }
  bool number_integer(typename Value::number_integer_t value) { return number(value); }
  bool number_unsigned(typename Value::number_unsigned_t value) { return number(value); }
  bool number_float(typename Value::number_float_t value, const std::string&) { return number(value); }
  bool string(std::string& value) { return put(std::move(value)) != nullptr; }
  bool binary(typename Value::binary_t&) { return fail("binary value"); }
  bool start_object(std::size_t) { return enter(Value::object()); }
  bool start_array(std::size_t) { return enter(Value::array()); }

  bool key(std::string& name) {
    auto& object = open_.back()->template get_ref<typename Value::object_t&>();
    if constexpr (std::is_same_v<Value, Json>) {
      const auto [at, fresh] = object.try_emplace(std::move(name));
      if (!fresh) return fail_duplicate(at->first);
      place_ = &at->second;
    } else {
      // Its own emplace() searches all earlier keys; duplicates are looked for once, at the end of the object.
      object.Value::object_t::Container::emplace_back(std::move(name), nullptr);
      place_ = &object.back().second;
    }
    return true;
  }

  bool end_object() {
    if constexpr (!std::is_same_v<Value, Json>) {
      std::vector<std::string_view> keys;
      const auto& object = open_.back()->template get_ref<const typename Value::object_t&>();
      keys.reserve(object.size());
      for (const auto& [name, value] : object) keys.push_back(name);
      std::sort(keys.begin(), keys.end());
      const auto twice = std::adjacent_find(keys.begin(), keys.end());
      if (twice != keys.end()) return fail_duplicate(*twice);
    }
    return leave();
  }
  bool end_array() { return leave(); }

  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": ours says the place itself.
    const std::string_view words = error.what();
    const std::size_t column = words.find("column ");
    const std::size_t start = column == std::string_view::npos ? words.find("] ") : words.find(": ", column);
    return fail(excerpt(start == std::string_view::npos ? words : words.substr(start + 2)));
  }

  const std::string& problem() const { return problem_; }
  Value take() { return std::move(root_); }

 private:
  bool fail(std::string words) {
    problem_ = std::move(words);
    return false;
  }
  bool fail_duplicate(std::string_view name) {
    return fail(fmt::format("the key {} appears twice in one object", in_quotes(name)));
  }

  template <class Number>
  bool number(Number value) {
    const std::size_t rank = numbers_++;
    if (next_word_ < non_finite_.words.size() && non_finite_.words[next_word_].rank == rank)
      return put(non_finite_.words[next_word_++].value) != nullptr;
    return put(value) != nullptr;
  }

  template <class Any>
  Value* put(Any&& value) {
    if (open_.empty()) {
      root_ = std::forward<Any>(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& array = open_.back()->template get_ref<typename Value::array_t&>();
      return &array.emplace_back(std::forward<Any>(value));
    }
    *place_ = std::forward<Any>(value);
    return place_;
  }

  bool enter(Value&& empty) {
    if (open_.size() >= static_cast<std::size_t>(limits_.max_depth))
      return fail(fmt::format("arrays and objects are nested more than {} deep", limits_.max_depth));
    open_.push_back(put(std::move(empty)));
    return true;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  const NonFiniteWords& non_finite_;
  Value root_;
  std::vector<Value*> open_;  // arrays and objects not closed yet, outermost first
  Value* place_ = nullptr;    // where the value of the last key goes
  std::size_t numbers_ = 0;
  std::size_t next_word_ = 0;
  std::string problem_;
};

void check_before(std::string_view text, std::string_view what, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    throw Error(Errc::corrupt, fmt::format("{}: {} bytes of JSON, expected at most {}", what, text.size(), limits.max_bytes));
  if (text.empty()) throw Error(Errc::corrupt, fmt::format("{}: expected JSON, found nothing (0 bytes)", what));
  if (text.starts_with("\xef\xbb\xbf") || text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw Error(Errc::corrupt, fmt::format("{}: begins with a byte order mark; save it as UTF-8 without one", what));
  // The parser would take a NUL between tokens for the end of the text.
  if (const void* nul = std::memchr(text.data(), 0, text.size()))
    refuse(what, text, static_cast<std::size_t>(static_cast<const char*>(nul) - text.data()), "a NUL byte; JSON has none");
}

template <class Value>
Value parse(std::string_view text, std::string_view what, const JsonLimits& limits) {
  check_before(text, what, limits);
  const NonFiniteWords non_finite = limits.allow_non_finite ? replace_non_finite(text) : NonFiniteWords{};
  const std::string_view source = non_finite.words.empty() ? text : std::string_view(non_finite.text);

  Builder<Value> builder(limits, non_finite);
  const char* seen = source.data();
  if (!Value::sax_parse(Cursor(source.data(), &seen), Cursor(source.data() + source.size(), &seen), &builder)) {
    const auto read = static_cast<std::size_t>(seen - source.data());
    refuse(what, text, read == 0 ? 0 : read - 1, builder.problem());
  }
  return builder.take();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) { return parse<Json>(text, what, limits); }

OrderedJson parse_ordered_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  return parse<OrderedJson>(text, what, limits);
}

}  // namespace conclave
