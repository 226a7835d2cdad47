#pragma once
// Python's ==, <, in and hash() over values.
#include <cstddef>
#include <string_view>

#include "text/jinja/value.h"

namespace conclave::jinja {

bool equal(Runtime&, const Value&, const Value&);
bool less(Runtime&, const Value&, const Value&);  // fails where Python raises TypeError
bool contains(Runtime&, const Value& container, const Value& item);

std::size_t hash_text(std::string_view);
std::size_t hash_value(Runtime&, const Value&);  // equal values have equal hashes; fails on a list or a dict

}  // namespace conclave::jinja
