#pragma once
// The work behind str's methods that filters share.
#include <optional>
#include <string_view>

#include "text/jinja/runtime.h"

namespace conclave::jinja {

enum class Sides { left = 1, right = 2, both = 3 };

// Without the characters of `chars` (white space when absent) at the ends.
std::string_view strip(std::string_view text, std::optional<std::string_view> chars, Sides sides);
Value replace(Runtime&, const Text&, std::string_view old_part, std::string_view new_part, Int count);  // count < 0: all
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
Value pad(Runtime&, const Text&, Int width, std::string_view fill, Sides where);  // `where` the filling goes

}  // namespace conclave::jinja
