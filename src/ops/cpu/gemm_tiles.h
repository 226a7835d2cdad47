#pragma once
// How a matrix product is cut into tasks.
#include <algorithm>
#include <cstdint>

#include "device/thread_pool.h"
#include "tensor/view.h"

namespace conclave {

struct GemmTiles {
  std::int64_t rows = 1, tokens = 1;  // of one task; the last ones may be smaller
  std::int64_t row_tiles = 0, token_tiles = 0;
  std::int64_t tasks() const { return row_tiles * token_tiles; }
};

// Tasks for [tokens, cols] x [rows, cols]^T on so many threads: long enough to hide what claiming one costs, enough of them that a
// slow thread leaves work to the others. Never changes what is computed.
GemmTiles plan_gemm(std::int64_t rows, std::int64_t cols, std::int64_t tokens, int threads);

// One task: these rows of the matrix with these tokens.
struct GemmTile {
  std::int64_t row_begin, row_end, token, tokens;
};

// The fields of GemmArgs and TileArgs that say what of the result a task computes; out f32 [tokens, rows], rows may be apart.
template <class Args>
void set_result(Args& args, const GemmTile& tile, const TensorView& out) noexcept {
  args.tokens = tile.tokens;
  args.out = out.row<float>(tile.token);
  args.out_stride = out.stride[0];
  args.row_begin = tile.row_begin;
  args.row_end = tile.row_end;
}

// body(GemmTile) noexcept for the tasks of plan_gemm, in one parallel region. All rows with the first tokens, then with the next
// ones: the threads share the activations.
template <class Body>
void for_each_tile(ThreadPool& pool, std::int64_t rows, std::int64_t cols, std::int64_t tokens, Body body) noexcept {
  const GemmTiles tiles = plan_gemm(rows, cols, tokens, pool.size());
  pool.for_each(tiles.tasks(), [&](std::int64_t task, int) noexcept {
    const std::int64_t token = task / tiles.row_tiles * tiles.tokens, row = task % tiles.row_tiles * tiles.rows;
    body(GemmTile{row, std::min(row + tiles.rows, rows), token, std::min(tiles.tokens, tokens - token)});
  });
}

}  // namespace conclave
