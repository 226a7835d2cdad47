#pragma once
// How a matrix product is cut into tasks.
#include <cstdint>

namespace conclave {

struct GemmTiles {
  std::int64_t rows = 1, tokens = 1;  // of one task; the last ones may be smaller
  std::int64_t row_tiles = 0, token_tiles = 0;
  std::int64_t tasks() const { return row_tiles * token_tiles; }
};

// Tasks for [tokens, cols] x [rows, cols]^T on so many threads: long enough to hide what claiming one costs, enough of them that a
// slow thread leaves work to the others. Never changes what is computed.
GemmTiles plan_gemm(std::int64_t rows, std::int64_t cols, std::int64_t tokens, int threads);

}  // namespace conclave
