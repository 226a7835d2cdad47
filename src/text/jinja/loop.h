#pragma once
// `loop`, the object that tells a for loop's body where it is.
#include <functional>
#include <optional>

#include "text/jinja/objects.h"

namespace conclave::jinja {

class Loop final : public Object {
 public:
  using Recurse = std::function<Value(const Value& iterable)>;  // runs the loop over something deeper; empty: not recursive

  Loop(Next source, std::optional<std::size_t> length, std::size_t depth, Recurse recurse)
      : source_(std::move(source)), length_(length), depth_(depth), recurse_(std::move(recurse)) {}

  bool advance();  // to the next item; false at the end
  const Value& current() const { return *current_; }
  // The loop is over, though something may still refer to this object: nothing is held on to.
  void finish();

  std::string type_name() const override { return "jinja2.runtime.LoopContext"; }
  std::string repr(Runtime&) override;
  std::optional<Value> attribute(Runtime&, const Value& self, std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Runtime&, const Args&) override;
  std::optional<std::size_t> length(Runtime&) override { return count(); }
  int depth() const override { return 1; }

 private:
  const std::optional<Value>& peek();
  std::size_t count();
  Value cycle(Runtime&, const Args&) const;
  Value changed(Runtime&, const Args&);

  Next source_;
  std::optional<std::size_t> length_;
  std::size_t depth_;
  Recurse recurse_;
  std::optional<Value> before_, current_, after_, last_changed_;
  bool peeked_ = false;
  std::size_t index_ = 0;  // from 1, once there is a current item
};

}  // namespace conclave::jinja
