#include "kernels/cuda/moe/pack_fp4.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/math.h"
#include "kernels/cuda/moe/fp4_units.h"

namespace conclave::cuda {
namespace {

constexpr int kLanes = 32;

// What a code contributes to its word: [register * 2 + half][code].
constexpr std::array<std::array<std::uint32_t, 16>, 8> make_code_table() {
  std::array<std::array<std::uint32_t, 16>, 8> table{};
  constexpr int kBits[] = {6, 7, 8, 15};  // of the register, for the bits of a code from the lowest
  for (int slot = 0; slot < 8; ++slot)
    for (int code = 0; code < 16; ++code)
      for (int b = 0; b < 4; ++b)
        if ((code >> b & 1) != 0)
          table[static_cast<std::size_t>(slot)][static_cast<std::size_t>(code)] |= 1u << code_bit(slot / 2, slot % 2, kBits[b]);
  return table;
}
constexpr auto kCodeTable = make_code_table();

// Where the word of (tile, step, lane) lies in a unit.
constexpr int word_offset(int tile, int step, int lane) { return ((tile * 2 + step / 4) * kLanes + lane) * 16 + step % 4 * 4; }

// Row and column within a tile of the code in register r, half h of a lane's step.
constexpr int row_of(int lane, int r) { return lane / 4 + (r % 2) * 8; }
constexpr int col_of(int lane, int step, int r, int half) { return lane % 4 * 32 + step * 4 + r / 2 * 2 + half; }

// E4M3 without its sign as NVFP4 units store it, 0 for zero.
std::uint8_t normal_scale(std::uint8_t bits) {
  const unsigned magnitude = bits & 0x7fu, exponent = magnitude >> 3, fraction = magnitude & 7u;
  if (magnitude == 0) return 0;
  if (exponent != 0) return static_cast<std::uint8_t>((exponent - 7 + Nvfp4Units::kExponentBias) << 3 | fraction);
  const auto top = static_cast<unsigned>(std::bit_width(fraction)) - 1;  // fraction * 2^-9 = 1.xx * 2^(top - 9)
  return static_cast<std::uint8_t>((top + static_cast<unsigned>(Nvfp4Units::kExponentBias) - 9) << 3 |
                                   (fraction << (3 - top) & 7u));
}

struct Tile {
  const Fp4Source& source;
  std::int64_t first_row;
  std::int64_t scale_cols;

  bool has(std::int64_t row, std::int64_t col) const { return first_row + row < source.rows && col < source.cols; }
  unsigned code(std::int64_t row, std::int64_t col) const {
    return has(row, col) ? source.codes[static_cast<std::size_t>((first_row + row) * source.cols + col)].code : 0u;
  }
  std::uint8_t scale(std::int64_t row, std::int64_t col) const {
    if (!has(row, col)) return 0;
    return source.scales[static_cast<std::size_t>((first_row + row) * ceil_div(source.cols, scale_cols) + col / scale_cols)];
  }
};

// code_at(tile, row, col): what is stored.
template <class CodeAt>
void pack_codes(std::byte* unit, std::int64_t first_col, CodeAt code_at) {
  for (int tile = 0; tile < kUnitTiles; ++tile)
    for (int step = 0; step < kUnitSteps; ++step)
      for (int lane = 0; lane < kLanes; ++lane) {
        std::uint32_t word = 0;
        for (int slot = 0; slot < 8; ++slot)
          word |= kCodeTable[static_cast<std::size_t>(slot)]
                            [code_at(tile, row_of(lane, slot / 2), first_col + col_of(lane, step, slot / 2, slot % 2))];
        std::memcpy(unit + word_offset(tile, step, lane), &word, sizeof word);
      }
}

// The code of the element.
float unpack_code(const std::byte* unit, int tile, int row, std::int64_t col) {
  const int in_unit = static_cast<int>(col % kUnitCols), lane = row % 8 * 4 + in_unit / 32, step = in_unit % 32 / 4;
  const int r = row / 8 + in_unit % 4 / 2 * 2;
  std::uint32_t word;
  std::memcpy(&word, unit + word_offset(tile, step, lane), sizeof word);
  unsigned code = 0;
  constexpr int kBits[] = {6, 7, 8, 15};
  for (int b = 0; b < 4; ++b) code |= (word >> code_bit(r, in_unit % 2, kBits[b]) & 1u) << b;
  return e2m1{static_cast<std::uint8_t>(code)}.to_float();
}

int nvfp4_scale_offset(int tile, int row, int block) {
  return (tile * kLanes + row % 8 * 4 + block / 2) * 4 + row / 8 * 2 + block % 2;
}
int mxfp4_scale_offset(int tile, int row, int block) { return (row % 8 * 4 + block) * 4 + tile * 2 + row / 8; }

}  // namespace

std::int64_t nvfp4_pair_bytes(std::int64_t cols) { return ceil_div<std::int64_t>(cols, kUnitCols) * Nvfp4Units::kBytes; }
std::int64_t mxfp4_pair_bytes(std::int64_t cols) { return ceil_div<std::int64_t>(cols, kUnitCols) * Mxfp4Units::kBytes; }

void pack_nvfp4_pair(const Fp4Source* const (&sources)[2], const std::int64_t (&tile_rows)[2], std::byte* out) {
  constexpr int kBlocks = kUnitCols / Nvfp4Units::kScaleCols;
  const Tile tiles[2] = {{*sources[0], tile_rows[0], Nvfp4Units::kScaleCols}, {*sources[1], tile_rows[1], Nvfp4Units::kScaleCols}};
  for (std::int64_t first = 0; first < sources[0]->cols; first += kUnitCols, out += Nvfp4Units::kBytes) {
    pack_codes(out, first, [&](int tile, int row, std::int64_t col) {
      const std::uint8_t scale = tiles[tile].scale(row, col);
      if ((scale & 0x7f) == 0) return 0u;  // the stored scale cannot be 0
      return tiles[tile].code(row, col) ^ ((scale & 0x80) != 0 ? 8u : 0u);
    });
    for (int tile = 0; tile < kUnitTiles; ++tile)
      for (int row = 0; row < kTileRows; ++row)
        for (int block = 0; block < kBlocks; ++block)
          out[kUnitCodeBytes + nvfp4_scale_offset(tile, row, block)] =
              std::byte{normal_scale(tiles[tile].scale(row, first + block * Nvfp4Units::kScaleCols))};
  }
}

void pack_mxfp4_pair(const Fp4Source* const (&sources)[2], const std::int64_t (&tile_rows)[2], const int (&largest)[2],
                     std::byte* out) {
  constexpr int kBlocks = kUnitCols / Mxfp4Units::kScaleCols;
  const Tile tiles[2] = {{*sources[0], tile_rows[0], Mxfp4Units::kScaleCols}, {*sources[1], tile_rows[1], Mxfp4Units::kScaleCols}};
  for (std::int64_t first = 0; first < sources[0]->cols; first += kUnitCols, out += Mxfp4Units::kBytes) {
    pack_codes(out, first, [&](int tile, int row, std::int64_t col) { return tiles[tile].code(row, col); });
    for (int tile = 0; tile < kUnitTiles; ++tile)
      for (int row = 0; row < kTileRows; ++row)
        for (int block = 0; block < kBlocks; ++block) {
          const int scale = tiles[tile].scale(row, first + block * Mxfp4Units::kScaleCols);
          const int stored = std::max(0, scale - largest[tile] + Mxfp4Units::kLargestExponent);
          out[kUnitCodeBytes + mxfp4_scale_offset(tile, row, block)] = std::byte{static_cast<std::uint8_t>(stored)};
        }
  }
}

float unpack_nvfp4(const std::byte* pair, int tile, int row, std::int64_t col) {
  const std::byte* unit = pair + col / kUnitCols * Nvfp4Units::kBytes;
  const int block = static_cast<int>(col % kUnitCols) / Nvfp4Units::kScaleCols;
  const auto stored = std::to_integer<std::uint32_t>(unit[kUnitCodeBytes + nvfp4_scale_offset(tile, row, block)]);
  return unpack_code(unit, tile, row, col) * std::bit_cast<float>((stored * 16u + 0x7000u) << 16) * 0x1p-107f;
}

float unpack_mxfp4(const std::byte* pair, int tile, int row, std::int64_t col) {
  const std::byte* unit = pair + col / kUnitCols * Mxfp4Units::kBytes;
  const int block = static_cast<int>(col % kUnitCols) / Mxfp4Units::kScaleCols;
  const auto stored = std::to_integer<std::uint32_t>(unit[kUnitCodeBytes + mxfp4_scale_offset(tile, row, block)]);
  return unpack_code(unit, tile, row, col) * std::bit_cast<float>(stored << 23) * 0x1p-107f;
}

}  // namespace conclave::cuda
