#pragma once
// Objects that templates meet besides the plain values.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/builtin.h"

namespace conclave::jinja {

// Anything to call: a global function, a method with its receiver, a loop's cycle.
class Function final : public Object {
 public:
  using Body = std::function<Value(Runtime&, const Args&)>;
  Function(std::string type, Body body, int depth = 0) : type_(std::move(type)), body_(std::move(body)), depth_(depth) {}
  std::string type_name() const override { return type_; }
  bool callable() const override { return true; }
  Value call(Runtime& rt, const Args& args) override { return body_(rt, args); }
  int depth() const override { return depth_; }

 private:
  std::string type_;
  Body body_;
  int depth_;
};

// What a lazy filter returns: can be walked once. `depth` counts the values that `next` holds.
class Generator final : public Object {
 public:
  Generator(Next next, int depth) : next_(std::move(next)), depth_(depth) {}
  std::string type_name() const override { return "generator"; }
  Next iterate(Runtime&, const Value& self) override;
  int depth() const override { return depth_; }

 private:
  Next next_;
  int depth_;
};

// namespace(): the one thing a template may change, by {% set ns.name = ... %}. It may come to hold itself, so the
// interpreter keeps a list of all of them and empties them at the end (Interpreter::~Interpreter).
class Namespace final : public Object {
 public:
  std::string type_name() const override { return "jinja2.utils.Namespace"; }
  std::string repr(Runtime&) override;
  std::optional<Value> attribute(Runtime&, const Value&, std::string_view name) override;
  void set(std::string_view name, Value value);
  void clear() { members_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> members_;
  bool being_shown_ = false;  // within itself it is shown as {...}
};

class Range final : public Object {
 public:
  Range(Int start, Int step, std::size_t count, std::string repr)
      : start_(start), step_(step), count_(count), repr_(std::move(repr)) {}
  std::string type_name() const override { return "range"; }
  std::string repr(Runtime&) override { return repr_; }
  Next iterate(Runtime&, const Value& self) override;
  std::optional<Value> item(Runtime&, const Value& key) override;
  std::optional<std::size_t> length(Runtime&) override { return count_; }
  Value at(std::size_t i) const { return start_ + step_ * static_cast<Int>(i); }

 private:
  Int start_, step_;
  std::size_t count_;
  std::string repr_;
};

// What str.encode returns; it can be shown and measured.
class Bytes final : public Object {
 public:
  explicit Bytes(Value text) : text_(std::move(text)) {}
  std::string type_name() const override { return "bytes"; }
  std::string repr(Runtime&) override;
  std::optional<std::size_t> length(Runtime&) override { return text_.text().utf8.size(); }

 private:
  Value text_;
};

// A lazy sequence made by `next`, which holds `source`.
Value generator(Runtime&, const Value& source, Next next);
// A lazy sequence over values already there.
Value generator(Runtime&, Values);

}  // namespace conclave::jinja
