#include "text/jinja/loop.h"

#include <fmt/format.h>

#include "text/jinja/access.h"
#include "text/jinja/compare.h"
#include "text/jinja/interpreter.h"

namespace conclave::jinja {

bool Loop::advance() {
  std::optional<Value> item = peek();
  peeked_ = false;
  after_.reset();
  if (!item) return false;
  before_ = std::exchange(current_, std::move(item));
  ++index_;
  return true;
}

void Loop::finish() {
  source_ = [] { return std::optional<Value>(); };
  before_.reset(), current_.reset(), after_.reset(), last_changed_.reset();
  recurse_ = nullptr;
}

const std::optional<Value>& Loop::peek() {
  if (!std::exchange(peeked_, true)) after_ = source_();
  return after_;
}

// How many items there are; of a generator, by taking the rest of it.
std::size_t Loop::count() {
  if (length_) return *length_;
  Values rest;
  while (auto item = source_()) rest.push_back(std::move(*item));
  length_ = index_ + rest.size() + (after_ ? 1 : 0);
  source_ = [rest = std::move(rest), i = std::size_t{0}]() mutable {
    return i < rest.size() ? std::optional(rest[i++]) : std::nullopt;
  };
  return *length_;
}

Value Loop::cycle(Runtime& rt, const Args& args) const {
  if (args.values.empty()) rt.fail("no items for cycling given");
  return args.values[(index_ - 1) % args.values.size()];
}

Value Loop::changed(Runtime& rt, const Args& args) {
  const Value now = rt.tuple(args.values);
  if (last_changed_ && equal(rt, *last_changed_, now)) return false;
  last_changed_ = now;
  return true;
}

std::string Loop::repr(Runtime&) { return fmt::format("<LoopContext {}/{}>", index_, count()); }

std::optional<Value> Loop::attribute(Runtime& rt, const Value& self, std::string_view name) {
  const auto whole = [](std::size_t number) { return Value(static_cast<Int>(number)); };
  if (name == "index") return whole(index_);
  if (name == "index0") return static_cast<Int>(index_) - 1;
  if (name == "first") return index_ == 1;
  if (name == "last") return !peek().has_value();
  if (name == "length") return whole(count());
  if (name == "revindex") return static_cast<Int>(count()) - static_cast<Int>(index_) + 1;
  if (name == "revindex0") return static_cast<Int>(count()) - static_cast<Int>(index_);
  if (name == "depth") return whole(depth_ + 1);
  if (name == "depth0") return whole(depth_);
  if (name == "previtem") return before_ ? *before_ : rt.missing("there is no previous item");
  if (name == "nextitem") return peek() ? *peek() : rt.missing("there is no next item");
  if (name != "cycle" && name != "changed") return std::nullopt;
  const bool cycles = name == "cycle";
  return Value(std::shared_ptr<Object>(rt.object<Function>(
      "method",
      [self, this, cycles](Runtime& runtime, const Args& args) { return cycles ? cycle(runtime, args) : changed(runtime, args); },
      2)));
}

Value Loop::call(Runtime& rt, const Args& args) {
  if (!recurse_) rt.fail("The loop must have the 'recursive' marker to be called recursively.");
  if (args.values.size() != 1 || !args.named.empty()) rt.fail("a recursive loop is called with what to loop over");
  return recurse_(args.values[0]);
}

namespace {

// The items for which the loop's `if` holds, asked for one by one: what it sees may change as the body runs.
Next chosen(Interpreter& in, const For& node, Next items) {
  return [&in, &node, items = std::move(items), outer = in.scope()]() -> std::optional<Value> {
    while (auto item = items()) {
      const InScope scope(in, std::make_shared<Scope>(outer));
      in.assign(node.target, *item);
      if (truth(in.rt, in.evaluate(*node.condition))) return item;
    }
    return std::nullopt;
  };
}

Flow run_loop(Interpreter& in, const For& node, const Value& iterable, std::size_t depth) {
  Next items = iterate_or_fail(in.rt, iterable);
  std::optional<std::size_t> length = jinja::length(in.rt, iterable);
  if (node.condition != nullptr) items = chosen(in, node, std::move(items)), length.reset();
  Loop::Recurse recurse;
  if (node.recursive) {
    recurse = [&in, &node, depth, outer = in.scope()](const Value& deeper) {
      const InScope scope(in, std::make_shared<Scope>(outer));
      return in.capture([&] { run_loop(in, node, deeper, depth + 1); });
    };
  }
  const auto loop = in.rt.object<Loop>(std::move(items), length, depth, std::move(recurse));
  struct Finish {
    Loop& loop;
    ~Finish() { loop.finish(); }
  } const finish{*loop};

  bool completed = false;  // some pass came to its end, not to a break or continue
  while (loop->advance()) {
    const InScope scope(in);
    in.define("loop", Value(std::shared_ptr<Object>(loop)));
    in.assign(node.target, loop->current());
    const Flow flow = in.execute(node.body);
    if (flow == Flow::break_loop) break;
    completed = completed || flow == Flow::on;
  }
  // Jinja notes that it went round at the end of the body: where every pass was cut short, `else` runs as well.
  if (completed) return Flow::on;
  const InScope scope(in);
  return in.execute(node.otherwise);
}

}  // namespace

Flow For::execute(Interpreter& in) const { return run_loop(in, *this, in.evaluate(*iterable), 0); }

}  // namespace conclave::jinja
