#pragma once
// Source to Template. The grammar is Jinja2's; include, import, extends, block and autoescape are outside the subset.
#include <memory>
#include <string_view>

#include "text/jinja/ast.h"

namespace conclave::jinja {

// Throws Error{corrupt, "chat template line N: ..."}.
std::shared_ptr<const Template> parse_template(std::string_view source);

}  // namespace conclave::jinja
