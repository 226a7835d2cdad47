#pragma once
// How much of a matrix one task of the CPU experts computes.
#include <cstdint>

namespace conclave::moe {

// Rows of one task, when `active` experts of `rows` rows each are spread over `threads`. A multiple of kTileStep (so that an
// element always falls to the same lane of a vector loop, whatever the split), small enough that every thread gets several
// tasks and none waits long for the last, and not below what pays for claiming a task: `cols` counts as work too.
inline constexpr std::int64_t kTileStep = 16;
std::int64_t rows_per_task(std::int64_t rows, std::int64_t cols, std::int64_t active, int threads);

}  // namespace conclave::moe
