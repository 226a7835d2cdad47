#pragma once
// One render's books: where in the template it is, what it has used of its bounds, and the making of values within them.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"
#include "text/render_options.h"

namespace conclave::jinja {

class Runtime {
 public:
  explicit Runtime(const RenderOptions& options) : options_(options) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const RenderOptions& options() const { return options_; }

  // Throws Error{bad_input, "chat template line N: words"}.
  [[noreturn]] void fail(std::string_view words) const;

  // Work about to be done, in steps; work on bytes or items counts 1/64 step for each.
  void step(std::size_t count = 1) {
    if (count > options_.max_steps - steps_) too_many_steps();
    steps_ += count;
  }
  void step_over(std::size_t bytes) { step(1 + bytes / 64); }
  // Fails when `bytes` more would be more than a render may hold. Call it before allocating.
  void afford(std::size_t bytes) const {
    if (bytes > options_.max_held_bytes || account_.held > options_.max_held_bytes - bytes) too_many_bytes();
  }
  // Takes `bytes` for good, for what lives until the render ends.
  void keep_bytes(std::size_t bytes) {
    afford(bytes);
    account_.held += bytes;
  }
  Account* account() { return &account_; }

  Value text(std::string utf8, bool markup = false);
  Value sequence(SequenceType, Values);
  Value list(Values items) { return sequence(SequenceType::list, std::move(items)); }
  Value tuple(Values items) { return sequence(SequenceType::tuple, std::move(items)); }
  Value dict(std::vector<Entry>);  // of equal keys, the first one's place and the last one's value
  Value missing(std::string words);
  Value missing_name(std::string_view name);
  // An object made with arguments, its size charged for as long as it lives.
  template <class T, class... A>
  std::shared_ptr<T> object(A&&... arguments) {
    step();
    afford(sizeof(T));
    auto made = std::make_shared<T>(std::forward<A>(arguments)...);
    check_depth(made->depth());
    return made;
  }

  int line = 1;

 private:
  friend class Level;
  [[noreturn]] void too_many_steps() const;
  [[noreturn]] void too_many_bytes() const;
  [[noreturn]] void too_deep() const;
  void check_depth(int depth) const;

  const RenderOptions& options_;
  Account account_;
  std::size_t steps_ = 0;
  int depth_ = 0;
};

// One more nested evaluation, for as long as it lives. Bounds the C++ stack.
class Level {
 public:
  explicit Level(Runtime& runtime) : runtime_(runtime) {
    if (++runtime_.depth_ > runtime_.options_.max_depth) {
      --runtime_.depth_;
      runtime_.too_deep();
    }
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() { --runtime_.depth_; }

 private:
  Runtime& runtime_;
};

// Text in the making; every byte is accounted for before it is there.
class Writer {
 public:
  explicit Writer(Runtime& runtime) : runtime_(runtime) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { runtime_.account()->held -= text_.size(); }

  void put(std::string_view text);
  void put(char c) { put(std::string_view(&c, 1)); }
  void fill(std::size_t times, std::string_view text);
  const std::string& text() const { return text_; }
  Value value(bool markup = false);  // what was written; the writer is empty afterwards

 private:
  Runtime& runtime_;
  std::string text_;
};

// A text constant of a template, shared by all renders.
Value constant_text(std::string utf8);

}  // namespace conclave::jinja
