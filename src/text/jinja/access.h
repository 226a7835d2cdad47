#pragma once
// Looking into values: truth, length, iteration, attributes, items, slices, calls.
#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace conclave::jinja {

bool truth(Runtime&, const Value&);
std::optional<std::size_t> length(Runtime&, const Value&);  // nothing where Python's len raises TypeError

Next iterate(Runtime&, const Value&);  // empty when not iterable
Next iterate_or_fail(Runtime&, const Value&);
Values to_values(Runtime&, const Value&);  // everything it iterates over; fails when not iterable

// x.name: what Python finds as an attribute, else the item of that name. Never fails but on what is missing.
Value get_attribute(Runtime&, const Value&, std::string_view name);
// x[key]: the item, else for a text key the attribute.
Value get_item(Runtime&, const Value&, const Value& key);
// Only what Python's getattr finds; nothing when there is no such attribute.
std::optional<Value> find_attribute(Runtime&, const Value&, std::string_view name);

// x[start:stop:step]; None for a bound left out. Fails, as Python does, where x[key] would be missing.
Value slice(Runtime&, const Value&, const Value& start, const Value& stop, const Value& step);

Value call(Runtime&, const Value& callee, const Args&);

Value character_at(Runtime&, const Text&, std::size_t index);  // index < length

}  // namespace conclave::jinja
