#pragma once
// Writes published 4-bit matrices as the units that the kernels read (fp4_units.h). Host code: needs no GPU.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fp4.h"
#include "base/fp8.h"

namespace conclave::cuda {

// Rows [first_row, first_row + rows) of a matrix as published, row by row.
struct Fp4Source {
  std::int64_t rows = 0, cols = 0;
  std::vector<e2m1> codes;           // [rows, cols]
  std::vector<std::uint8_t> scales;  // [rows, cols / 16] E4M3, or [rows, ceil(cols / 32)] E8M0
};

// Bytes of the units of one pair of tiles over so many columns.
std::int64_t nvfp4_pair_bytes(std::int64_t cols);
std::int64_t mxfp4_pair_bytes(std::int64_t cols);

// One pair of tiles: rows [tile_rows[i], tile_rows[i] + 16) of source i become tile i; rows and columns off the end are zeros.
void pack_nvfp4_pair(const Fp4Source* const (&sources)[2], const std::int64_t (&tile_rows)[2], std::byte* out);
// largest: the largest of each source's scale bytes; what turns sums into values then is 2^19 * 2^(largest - 127).
void pack_mxfp4_pair(const Fp4Source* const (&sources)[2], const std::int64_t (&tile_rows)[2], const int (&largest)[2],
                     std::byte* out);

// The value of element (row, col) of tile `tile` as the kernels decode it, NVFP4 without the matrix scale, MXFP4 relative to
// 2^(largest - 127): for tests.
float unpack_nvfp4(const std::byte* pair, int tile, int row, std::int64_t col);
float unpack_mxfp4(const std::byte* pair, int tile, int row, std::int64_t col);

}  // namespace conclave::cuda
