#pragma once
// What a render of a chat template may use, and the time it sees.
#include <cstddef>
#include <ctime>
#include <optional>

namespace conclave {

// Templates come with models and are not trusted: one that asks for more than this ends with Error{bad_input}.
struct RenderOptions {
  std::optional<std::tm> now;                           // for strftime_now; the local time when absent
  std::size_t max_steps = 50'000'000;                   // evaluations, about 20 ns to 100 ns each
  std::size_t max_held_bytes = std::size_t{256} << 20;  // of all living values together
  std::size_t max_output_bytes = std::size_t{32} << 20;
  int max_depth = 1000;  // nested evaluations: parentheses, statements, macros calling macros; needs up to 2 MiB of stack
};

}  // namespace conclave
