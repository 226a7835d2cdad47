#pragma once
// Attribute paths ("function.name", "0.id") of the filters that take attribute=.
#include "text/jinja/builtin.h"

namespace conclave::jinja {

using Path = Values;  // keys, one within the other

Path path_of(Runtime&, const Value& attribute);                                     // a text with dots, or a whole number
Value follow(Runtime&, Value item, const Path&, const Value* otherwise = nullptr);  // `otherwise` for what is missing

}  // namespace conclave::jinja
