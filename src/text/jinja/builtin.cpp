#include "text/jinja/builtin.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/access.h"
#include "text/jinja/show.h"

namespace conclave::jinja {
namespace {

std::vector<std::string_view> split_names(std::string_view names) {
  std::vector<std::string_view> out;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    out.push_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return out;
}

// Work done on what is given grows with its size.
std::size_t size_of(const Value& value) {
  if (value.is(Kind::text)) return value.text().utf8.size();
  if (value.is(Kind::sequence)) return value.sequence().items.size();
  return value.is(Kind::mapping) ? value.mapping().entries.size() : 0;
}

}  // namespace

const Value* Args::find(std::string_view name) const {
  const auto at = std::find_if(named.begin(), named.end(), [&](const auto& argument) { return argument.first == name; });
  return at == named.end() ? nullptr : &at->second;
}

bool Given::truth(std::size_t i, bool absent) const { return has(i) ? jinja::truth(rt_, *slots_[i]) : absent; }

Int Given::whole(std::size_t i, Int absent) const {
  if (!has(i)) return absent;
  if (!slots_[i]->is_whole()) rt_.fail(fmt::format("expected a whole number, found {}", type_name(*slots_[i])));
  return slots_[i]->whole();
}

std::string_view Given::text(std::size_t i, std::string_view absent) const {
  if (!has(i)) return absent;
  if (!slots_[i]->is(Kind::text)) rt_.fail(fmt::format("expected a str, found {}", type_name(*slots_[i])));
  return slots_[i]->text().utf8;
}

Value Builtin::operator()(Runtime& rt, const Value& self, const Args& args) const {
  rt.step_over(size_of(self));
  Given given(rt, args);
  if (parameters == "*") return run(rt, self, given);
  const std::vector<std::string_view> names = split_names(parameters);
  if (args.values.size() > names.size()) {
    rt.fail(fmt::format("{}() takes at most {} arguments ({} given)", name, names.size(), args.values.size()));
  }
  for (std::size_t i = 0; i < args.values.size(); ++i) given.slots_[i] = &args.values[i];
  for (const auto& [argument, value] : args.named) {
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), argument) - names.begin());
    if (at == names.size()) rt.fail(fmt::format("{}() got an unexpected keyword argument {}", name, quoted(argument)));
    if (given.slots_[at] != nullptr) rt.fail(fmt::format("{}() got multiple values for argument {}", name, quoted(argument)));
    given.slots_[at] = &value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (given.slots_[i] == nullptr) rt.fail(fmt::format("{}() missing required argument: {}", name, quoted(names[i])));
  }
  return run(rt, self, given);
}

const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(), [&](const Builtin& b) { return b.name == name; });
  return at == table.end() ? nullptr : &*at;
}

Value apply_filter(Runtime& rt, std::string_view name, const Value& value, const Args& args) {
  for (const auto table : {value_filters(), text_filters(), sequence_filters(), selection_filters()}) {
    if (const Builtin* filter = find_builtin(table, name)) return (*filter)(rt, value, args);
  }
  rt.fail(fmt::format("No filter named {}.", quoted(name)));
}

bool apply_test(Runtime& rt, std::string_view name, const Value& value, const Args& args) {
  if (const Builtin* test = find_builtin(tests(), name)) return truth(rt, (*test)(rt, value, args));
  rt.fail(fmt::format("No test named {}.", quoted(name)));
}

}  // namespace conclave::jinja
