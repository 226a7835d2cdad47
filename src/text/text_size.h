#pragma once
// The bound on every text inside of the tokenizer, so that no tokenizer.json can make a short text grow without end.
#include <cstddef>

namespace conclave {

inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

// Throws Error{bad_input} when `bytes` is more.
void check_text_size(std::size_t bytes);

}  // namespace conclave
