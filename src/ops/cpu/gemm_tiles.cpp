#include "ops/cpu/gemm_tiles.h"

#include <algorithm>

#include "base/math.h"

namespace conclave {
namespace {

// Tokens whose activations stay in the second-level cache while weights pass by; also the block inside the kernels.
constexpr std::int64_t kTokensPerTask = 32;
constexpr std::int64_t kTasksPerThread = 8;
// About 10 us of a core that decodes its weights.
constexpr std::int64_t kProductsPerTask = std::int64_t{1} << 16;
// Results of one cache line: two threads never write to the same one for long.
constexpr std::int64_t kRowStep = 16;

}  // namespace

GemmTiles plan_gemm(std::int64_t rows, std::int64_t cols, std::int64_t tokens, int threads) {
  GemmTiles tiles;
  if (rows <= 0 || tokens <= 0) return tiles;
  tiles.tokens = std::min(tokens, kTokensPerTask);
  tiles.token_tiles = ceil_div(tokens, tiles.tokens);
  if (threads <= 1) {
    tiles.rows = rows;
  } else {
    const std::int64_t wanted_tiles = std::max<std::int64_t>(1, ceil_div(threads * kTasksPerThread, tiles.token_tiles));
    const std::int64_t least_rows = ceil_div(kProductsPerTask, std::max<std::int64_t>(1, cols * tiles.tokens));
    tiles.rows = std::min(rows, round_up(std::max(ceil_div(rows, wanted_tiles), least_rows), kRowStep));
  }
  tiles.row_tiles = ceil_div(rows, tiles.rows);
  return tiles;
}

}  // namespace conclave
