#pragma once
// Values as text: Python's str() and repr(), and the names of types.
#include <string>
#include <string_view>

#include "text/jinja/runtime.h"

namespace conclave::jinja {

std::string type_name(const Value&);        // "str", "NoneType", "jinja2.utils.Namespace"
std::string quoted(std::string_view text);  // repr of a str, shortened where long: for messages

std::string whole_text(Int);
std::string real_text(double);  // the shortest digits that read back as the same number

void write_text(Writer&, Runtime&, const Value&);  // str()
void write_repr(Writer&, Runtime&, const Value&);
Value to_text(Runtime&, const Value&);   // str(); a str is returned as it is, markup included
Value to_plain(Runtime&, const Value&);  // the same, markup lost

}  // namespace conclave::jinja
