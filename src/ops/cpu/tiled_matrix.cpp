#include "ops/cpu/tiled_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/math.h"
#include "conclave/error.h"
#include "ops/cpu/packed_matrix.h"

namespace conclave {
namespace {

constexpr std::int64_t kTileRows = 16, kBlock = 16, kTileBlockBytes = kTileRows * kBlock / 2;

// The four nibbles of 16 bits, each in a byte of its own.
std::uint32_t spread(std::uint32_t nibbles) {
  nibbles = (nibbles | nibbles << 8) & 0x00ff00ffu;
  return (nibbles | nibbles << 4) & 0x0f0f0f0fu;
}

// The 8 bytes of one row and block, in the order of TileMatrix: a byte holds columns k and k + 4 of each 8. A row of nibbles has the
// even column in the low one; beyond its end there are zeros.
void place(const std::uint8_t* row, std::int64_t first, std::int64_t cols, std::uint8_t* out) {
  std::uint8_t block[kBlock / 2] = {};
  const std::int64_t here = std::min(kBlock, cols - first);
  std::memcpy(block, row + first / 2, static_cast<std::size_t>(ceil_div<std::int64_t>(here, 2)));
  if (here % 2 != 0) block[here / 2] &= 15;
  for (int half = 0; half < 2; ++half) {
    std::uint32_t columns;
    std::memcpy(&columns, block + 4 * half, sizeof columns);
    const std::uint32_t bytes = spread(columns & 0xffffu) | spread(columns >> 16) << 4;
    std::memcpy(out + 32 * half, &bytes, sizeof bytes);
  }
}

Buffer tiled_codes(const KernelMatrix& m, std::int64_t blocks) {
  Buffer out = allocate_host(static_cast<std::size_t>(round_up(m.rows, kTileRows) * blocks * kBlock / 2));
  auto* bytes = reinterpret_cast<std::uint8_t*>(out.data());
  for (std::int64_t r = 0; r < m.rows; ++r) {
    std::uint8_t* tile = bytes + r / kTileRows * blocks * kTileBlockBytes + r % kTileRows / 8 * 64 + r % 8 * 4;
    for (std::int64_t b = 0; b < blocks; ++b) place(m.codes + r * m.code_stride, b * kBlock, m.cols, tile + b * kTileBlockBytes);
  }
  return out;
}

float float_at(const std::uint8_t* values, std::int64_t index) {
  float value;
  std::memcpy(&value, values + index * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

// [tile][group][row of the tile] of what value(row, group) says.
template <class T, class Value>
Buffer tiled_scales(const KernelMatrix& m, std::int64_t groups, Value value) {
  Buffer out = allocate_host(static_cast<std::size_t>(round_up(m.rows, kTileRows) * groups) * sizeof(T));
  auto* at = reinterpret_cast<T*>(out.data());
  for (std::int64_t r = 0; r < m.rows; ++r)
    for (std::int64_t g = 0; g < groups; ++g) at[(r / kTileRows * groups + g) * kTileRows + r % kTileRows] = value(r, g);
  return out;
}

// E4M3 with the sign bit, and the codes of E4M3 and E8M0 that are no numbers.
bool is_magnitude(TileFormat format, std::uint8_t code) { return format == kTileNvfp4 ? code < 0x7f : code != 0xff; }

std::uint8_t scale_code(const KernelMatrix& m, TileFormat format, std::int64_t row, std::int64_t group) {
  const std::uint8_t code = m.scales[row * m.scale_stride + group];
  if (!is_magnitude(format, code))
    throw Error(Errc::corrupt, fmt::format("the block scale of row {}, block {} is {:#04x}: expected a number that is not negative", row,
                                           group, code));
  return code;
}

TileFormat tile_format(GemmFormat format) {
  return format == kGemmNvfp4 ? kTileNvfp4 : format == kGemmMxfp4 ? kTileMxfp4 : kTileInt4;
}

}  // namespace

bool TiledMatrix::supports(const QuantScheme& s) noexcept {
  if (s.dynamic || s.scale_rows != 1) return false;
  if (s.code == Code::int4) return s.scale_cols % kBlock == 0;
  return s.code == Code::e2m1 && ((s.scale_cols == 16 && s.scale == DType::f8e4m3) || (s.scale_cols == 32 && s.scale == DType::f8e8m0));
}

TiledMatrix::TiledMatrix(const QuantMatrix& weights) {
  CONCLAVE_CHECK(supports(weights.scheme), to_string(weights.scheme));
  const PackedMatrix rows(weights);
  const KernelMatrix& m = rows.matrix();
  format_ = tile_format(rows.format());
  const std::int64_t blocks = ceil_div(m.cols, kBlock), groups = ceil_div<std::int64_t>(m.cols, m.scale_cols);
  codes_ = tiled_codes(m, blocks);
  if (format_ == kTileInt4) {
    const auto at = [&](std::int64_t r, std::int64_t g) { return r * m.scale_stride / static_cast<std::int64_t>(sizeof(float)) + g; };
    scales_ = tiled_scales<float>(m, groups, [&](std::int64_t r, std::int64_t g) { return float_at(m.scales, at(r, g)); });
    if (weights.scheme.zero_point)
      zeros_ = tiled_scales<std::uint8_t>(
          m, groups, [&](std::int64_t r, std::int64_t g) { return static_cast<std::uint8_t>(float_at(m.zeros, at(r, g))); });
  } else {
    scales_ = tiled_scales<std::uint8_t>(m, groups, [&](std::int64_t r, std::int64_t g) { return scale_code(m, format_, r, g); });
  }
  const auto bytes = [](const Buffer& b) { return b.size() == 0 ? nullptr : reinterpret_cast<const std::uint8_t*>(b.data()); };
  matrix_ = {bytes(codes_), bytes(scales_), bytes(zeros_), m.rows, m.cols, blocks, groups,
             static_cast<std::int32_t>(std::max<std::int64_t>(m.scale_cols / kBlock, 1)), m.global};
}

}  // namespace conclave
