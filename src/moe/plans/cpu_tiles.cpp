#include "moe/plans/cpu_tiles.h"

#include <algorithm>

#include "base/math.h"

namespace conclave::moe {

std::int64_t rows_per_task(std::int64_t rows, std::int64_t cols, std::int64_t active, int threads) {
  constexpr std::int64_t kTasksPerThread = 8;
  constexpr std::int64_t kLeastWeights = 16384;  // a microsecond or two of dot products
  if (threads <= 1) return round_up(rows, kTileStep);
  const std::int64_t even = ceil_div(rows * active, threads * kTasksPerThread);
  const std::int64_t least = ceil_div(kLeastWeights, std::max<std::int64_t>(cols, 1));
  return std::min(round_up(std::max({even, least, std::int64_t{1}}), kTileStep), round_up(rows, kTileStep));
}

}  // namespace conclave::moe
