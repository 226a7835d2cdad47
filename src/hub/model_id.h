#pragma once
// The name of a model on the hub: org/name, or name alone for the oldest ones, and a revision (branch, tag or commit).
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace conclave {

inline constexpr std::string_view kHubScheme = "hf://";

struct ModelId {
  std::string name;  // "org/name"
  std::string revision = "main";
};

// "org/name", "org/name@revision", the same after "hf://", and "hf://name"; nothing when the text is not of that form.
// Each part: A-Z a-z 0-9 . _ - with a letter, digit or '_' at both ends, no "..", no "--" (the cache's folder names separate
// parts by it), at most 96 characters.
std::optional<ModelId> parse_model_id(std::string_view text);

// 40 hexadecimal digits: what it names never changes, so nothing need be looked up.
bool is_commit(std::string_view revision) noexcept;

// Lower-case hexadecimal digits, and exactly so many.
bool is_hex(std::string_view text, std::size_t digits) noexcept;

}  // namespace conclave
