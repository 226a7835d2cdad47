#include "text/jinja/runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "conclave/error.h"
#include "text/jinja/compare.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"

namespace conclave::jinja {
namespace {

constexpr int kMostNesting = 200;  // of containers; bounds every walk over a value and its death

}  // namespace

void Runtime::fail(std::string_view words) const {
  throw Error(Errc::bad_input, fmt::format("chat template line {}: {}", line, words));
}

void Runtime::too_many_steps() const { fail(fmt::format("needs more than {} steps; does it loop?", options_.max_steps)); }

void Runtime::too_many_bytes() const {
  fail(fmt::format("needs more than {} MiB of memory at once", options_.max_held_bytes >> 20));
}

void Runtime::too_deep() const {
  fail(fmt::format("expressions, statements and macros are nested more than {} deep", options_.max_depth));
}

void Runtime::check_depth(int depth) const {
  if (depth > kMostNesting) fail(fmt::format("lists and mappings are nested more than {} deep", kMostNesting));
}

Value constant_text(std::string utf8) {
  auto text = std::make_shared<Text>();
  text->length = count_characters(utf8);
  text->utf8 = std::move(utf8);
  return Value(std::shared_ptr<const Text>(std::move(text)));
}

Value Runtime::text(std::string utf8, bool markup) {
  const std::size_t bytes = sizeof(Text) + utf8.size();
  step_over(bytes);
  afford(bytes);
  const std::size_t length = count_characters(utf8);
  return Value(std::shared_ptr<const Text>(new Text{std::move(utf8), length, markup, {account(), bytes}}));
}

Value Runtime::sequence(SequenceType type, Values items) {
  const std::size_t bytes = sizeof(Sequence) + items.size() * sizeof(Value);
  step_over(items.size());
  afford(bytes);
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  check_depth(depth + 1);
  return Value(std::shared_ptr<const Sequence>(new Sequence{type, std::move(items), depth + 1, {account(), bytes}}));
}

Value Runtime::dict(std::vector<Entry> given) {
  const std::size_t bytes = sizeof(Mapping) + given.size() * (sizeof(Entry) + 16);
  step_over(given.size() * 8);
  afford(bytes);
  std::vector<std::pair<std::size_t, std::uint32_t>> index(given.size());
  for (std::uint32_t i = 0; i < given.size(); ++i) index[i] = {hash_value(*this, given[i].first), i};
  std::sort(index.begin(), index.end());
  // Keys that are equal have equal hashes, so they are neighbours now; earlier ones come first.
  std::vector<bool> repeated(given.size(), false);
  for (std::size_t i = 1; i < index.size(); ++i) {
    for (std::size_t j = i; j-- > 0 && index[j].first == index[i].first;) {
      if (repeated[index[j].second] || !equal(*this, given[index[j].second].first, given[index[i].second].first)) continue;
      given[index[j].second].second = given[index[i].second].second;
      repeated[index[i].second] = true;
      break;
    }
  }
  std::vector<std::uint32_t> place(given.size());
  std::vector<Entry> entries;
  entries.reserve(given.size());
  int depth = 0;
  for (std::uint32_t i = 0; i < given.size(); ++i) {
    place[i] = static_cast<std::uint32_t>(entries.size());
    if (repeated[i]) continue;
    depth = std::max({depth, given[i].first.depth(), given[i].second.depth()});
    entries.push_back(std::move(given[i]));
  }
  check_depth(depth + 1);
  std::erase_if(index, [&](const auto& at) { return repeated[at.second]; });
  for (auto& at : index) at.second = place[at.second];
  return Value(std::shared_ptr<const Mapping>(new Mapping{std::move(entries), std::move(index), depth + 1, {account(), bytes}}));
}

Value Runtime::missing(std::string words) {
  step();
  return Value(std::make_shared<const Missing>(Missing{std::move(words)}));
}

Value Runtime::missing_name(std::string_view name) { return missing(quoted(name) + " is undefined"); }

void Writer::put(std::string_view text) {
  runtime_.step((text_.size() % 64 + text.size()) / 64);
  runtime_.afford(text.size());
  text_.append(text);
  runtime_.account()->held += text.size();
  if (text_.size() > runtime_.options().max_output_bytes) {
    runtime_.fail(fmt::format("makes a text of more than {} bytes", runtime_.options().max_output_bytes));
  }
}

void Writer::fill(std::size_t times, std::string_view text) {
  if (text.empty()) return;
  if (times > runtime_.options().max_output_bytes / text.size()) {
    runtime_.fail(fmt::format("makes a text of more than {} bytes", runtime_.options().max_output_bytes));
  }
  for (std::size_t i = 0; i < times; ++i) put(text);
}

Value Writer::value(bool markup) {
  runtime_.account()->held -= text_.size();
  return runtime_.text(std::exchange(text_, {}), markup);
}

Value Object::call(Runtime& rt, const Args&) { rt.fail(quoted(type_name()) + " object is not callable"); }

}  // namespace conclave::jinja
