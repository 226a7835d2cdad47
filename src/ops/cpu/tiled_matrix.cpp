#include "ops/cpu/tiled_matrix.h"

#include <cstring>

#include "base/check.h"
#include "base/math.h"
#include "conclave/error.h"
#include "ops/cpu/int_rows.h"
#include "ops/cpu/packed_matrix.h"
#include "quant/scales.h"

namespace conclave {
namespace {

constexpr std::int64_t kTileRows = 16, kTileBlockBytes = kTileRows * kIntBlock / 2;

// The 8 bytes of a row and block, the even column in the low nibble, in the order of TileMatrix: bytes 0 to 3 of a row there hold
// columns 0 to 7, and those 32 further on hold 8 to 15.
void place(const std::uint8_t in[8], std::uint8_t* out) {
  for (int half = 0; half < 2; ++half, in += 4, out += 32) {
    out[0] = static_cast<std::uint8_t>((in[0] & 15) | in[2] << 4);
    out[1] = static_cast<std::uint8_t>(in[0] >> 4 | (in[2] & 0xf0));
    out[2] = static_cast<std::uint8_t>((in[1] & 15) | in[3] << 4);
    out[3] = static_cast<std::uint8_t>(in[1] >> 4 | (in[3] & 0xf0));
  }
}

Buffer tiled_codes(const KernelMatrix& m, std::int64_t blocks) {
  Buffer out = allocate_host(static_cast<std::size_t>(round_up(m.rows, kTileRows) * blocks * kIntBlock / 2));  // zeros
  auto* bytes = reinterpret_cast<std::uint8_t*>(out.data());
  for (std::int64_t r = 0; r < m.rows; ++r) {
    std::uint8_t* tile = bytes + r / kTileRows * blocks * kTileBlockBytes + r % kTileRows / 8 * 64 + r % 8 * 4;
    const std::uint8_t* row = m.codes + r * m.code_stride;
    const std::int64_t whole = m.cols / kIntBlock;
    for (std::int64_t b = 0; b < whole; ++b) place(row + b * 8, tile + b * kTileBlockBytes);
    if (whole == blocks) continue;
    std::uint8_t rest[8] = {};
    std::memcpy(rest, row + whole * 8, static_cast<std::size_t>(m.cols % kIntBlock / 2));
    place(rest, tile + whole * kTileBlockBytes);
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

TileFormat tile_format(GemmFormat format) {
  CONCLAVE_CHECK(format == kGemmNvfp4 || format == kGemmMxfp4 || format == kGemmInt4);
  return format == kGemmNvfp4 ? kTileNvfp4 : format == kGemmMxfp4 ? kTileMxfp4 : kTileInt4;
}

}  // namespace

bool TiledMatrix::supports(const QuantScheme& s, std::int64_t cols) noexcept {
  if (s.dynamic || s.scale_rows != 1) return false;
  if (s.code == Code::int4) return s.scale_cols % kIntBlock == 0 && cols % 2 == 0;
  return s.code == Code::e2m1 &&
         ((s.scale_cols == 16 && s.scale == DType::f8e4m3) || (s.scale_cols == 32 && s.scale == DType::f8e8m0));
}

TiledMatrix::TiledMatrix(const QuantMatrix& weights) {
  CONCLAVE_CHECK(supports(weights.scheme, weights.cols), to_string(weights.scheme));
  if (const std::string words = describe_bad_scales(weights); !words.empty()) throw Error(Errc::corrupt, words);
  const PackedMatrix rows(weights);
  const KernelMatrix& m = rows.matrix();
  format_ = tile_format(rows.format());
  const std::int64_t blocks = ceil_div(m.cols, kIntBlock), groups = ceil_div<std::int64_t>(m.cols, m.scale_cols);
  codes_ = tiled_codes(m, blocks);
  if (format_ == kTileInt4) {
    const auto at = [&](std::int64_t r, std::int64_t g) {
      return r * m.scale_stride / static_cast<std::int64_t>(sizeof(float)) + g;
    };
    scales_ = tiled_scales<float>(m, groups, [&](std::int64_t r, std::int64_t g) { return float_at(m.scales, at(r, g)); });
    if (weights.scheme.zero_point)
      zeros_ = tiled_scales<std::uint8_t>(
          m, groups, [&](std::int64_t r, std::int64_t g) { return static_cast<std::uint8_t>(float_at(m.zeros, at(r, g))); });
  } else {
    scales_ =
        tiled_scales<std::uint8_t>(m, groups, [&](std::int64_t r, std::int64_t g) { return m.scales[r * m.scale_stride + g]; });
  }
  const auto bytes = [](const Buffer& b) { return b.size() == 0 ? nullptr : reinterpret_cast<const std::uint8_t*>(b.data()); };
  matrix_ = {
      bytes(codes_), bytes(scales_), bytes(zeros_), m.rows,
      m.cols,        blocks,         groups,        static_cast<std::int32_t>(ceil_div<std::int64_t>(m.scale_cols, kIntBlock)),
      m.global};
}

}  // namespace conclave
