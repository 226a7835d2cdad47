#pragma once
// What a plan decided, as inspect and check show it.
#include <span>
#include <string>

#include "io/json_fwd.h"
#include "models/model.h"

namespace conclave::cli {

// A line per decision, and its reasons indented below.
std::string text_of(std::span<const ModelReport::Line>);
// [{"where", "what", "reasons": [...]}]
Json json_of(std::span<const ModelReport::Line>);

}  // namespace conclave::cli
