#pragma once
// What filters, tests, methods and global functions have in common: a name, parameters, a function; and their tables.
// Adding one is a function and a line in the table of its file.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/runtime.h"

namespace conclave::jinja {

struct Args {
  Values values;
  std::vector<std::pair<std::string, Value>> named;

  const Value* find(std::string_view name) const;
};

inline constexpr std::size_t kMostParameters = 6;

// Arguments sorted to their parameters.
class Given {
 public:
  Given(Runtime& rt, const Args& all) : rt_(rt), all_(all) {}
  const Args& all() const { return all_; }
  bool has(std::size_t i) const { return slots_[i] != nullptr; }
  const Value& operator[](std::size_t i) const { return *slots_[i]; }  // needs has(i)
  // The argument as a C++ value, or what stands for it when it is not given. A wrong type fails.
  Value value(std::size_t i, const Value& absent = {}) const { return has(i) ? *slots_[i] : absent; }
  bool truth(std::size_t i, bool absent) const;
  Int whole(std::size_t i, Int absent) const;
  std::string_view text(std::size_t i, std::string_view absent) const;
  bool is_none(std::size_t i) const { return !has(i) || slots_[i]->is(Kind::none); }  // not given, or None

 private:
  friend struct Builtin;
  Runtime& rt_;
  const Args& all_;
  std::array<const Value*, kMostParameters> slots_{};
};

struct Builtin {
  std::string_view name;
  std::string_view parameters;  // "width first blank" as Python names them; "*": takes given.all() as it comes
  std::size_t required;
  Value (*run)(Runtime&, const Value& self, const Given&);

  Value operator()(Runtime&, const Value& self, const Args&) const;
};

const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name);

std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();
std::span<const Builtin> value_filters();
std::span<const Builtin> tests();
std::span<const Builtin> text_methods();
std::span<const Builtin> search_methods();
std::span<const Builtin> container_methods(const Value&);  // of its type; empty for types without
std::span<const Builtin> globals();                        // called with None as self

// Fail when there is no filter or test of that name.
Value apply_filter(Runtime&, std::string_view name, const Value&, const Args&);
bool apply_test(Runtime&, std::string_view name, const Value&, const Args&);

}  // namespace conclave::jinja
