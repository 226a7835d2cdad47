#pragma once
// Characters whose upper or title case is more than one character (ß, ﬁ, ΐ).
#include <string_view>

namespace conclave::jinja {

std::string_view special_upper(char32_t);  // in UTF-8; empty when the simple mapping holds
std::string_view special_title(char32_t);

}  // namespace conclave::jinja
