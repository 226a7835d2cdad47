// What the packer writes for the GPU, read back bit by bit as its kernels decode it, is what was published.
#include "kernels/cuda/moe/pack_fp4.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/cuda/moe/fp4_units.h"

namespace conclave::cuda {
namespace {

Fp4Source random_source(std::int64_t rows, std::int64_t cols, std::int64_t scale_cols, int lowest, int highest, unsigned seed) {
  std::mt19937 random(seed);
  Fp4Source out{rows, cols, {}, {}};
  for (std::int64_t i = 0; i < rows * cols; ++i) out.codes.push_back({static_cast<std::uint8_t>(random() & 15)});
  for (std::int64_t i = 0; i < rows * ((cols + scale_cols - 1) / scale_cols); ++i)
    out.scales.push_back(
        static_cast<std::uint8_t>(lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest + 1))));
  return out;
}

float code_of(const Fp4Source& m, std::int64_t row, std::int64_t col) {
  return m.codes[static_cast<std::size_t>(row * m.cols + col)].to_float();
}
std::uint8_t scale_of(const Fp4Source& m, std::int64_t row, std::int64_t col, std::int64_t scale_cols) {
  return m.scales[static_cast<std::size_t>(row * ((m.cols + scale_cols - 1) / scale_cols) + col / scale_cols)];
}

TEST(PackFp4, CodesTileTheirWord) {
  std::uint32_t seen = 0;
  for (int r = 0; r < 4; ++r)
    for (int half = 0; half < 2; ++half)
      for (const int bit : {15, 8, 7, 6}) {
        const std::uint32_t one = 1u << code_bit(r, half, bit);
        EXPECT_EQ(seen & one, 0u);
        seen |= one;
      }
  EXPECT_EQ(seen, 0xffffffffu);
}

// Every E4M3 scale, subnormal, zero and negative ones too; two matrices side by side; rows and columns off the end.
TEST(PackFp4, Nvfp4ComesBackExactly) {
  constexpr std::int64_t kRows = 40, kCols = 144;
  const Fp4Source a = random_source(kRows, kCols, 16, 0, 126, 1), b = random_source(kRows, kCols, 16, 128, 254, 2);
  std::vector<std::byte> out(static_cast<std::size_t>(nvfp4_pair_bytes(kCols)));
  const Fp4Source* const sources[2] = {&a, &b};
  for (const std::int64_t first : {0, 16, 32}) {
    pack_nvfp4_pair(sources, {first, first}, out.data());
    for (int tile = 0; tile < 2; ++tile)
      for (int row = 0; row < kTileRows; ++row)
        for (std::int64_t col = 0; col < 2 * kUnitCols; ++col) {
          const bool inside = first + row < kRows && col < kCols;
          const Fp4Source& m = *sources[tile];
          const float expected =
              inside ? code_of(m, first + row, col) * f8e4m3{scale_of(m, first + row, col, 16)}.to_float() : 0.0f;
          ASSERT_EQ(unpack_nvfp4(out.data(), tile, row, col), expected) << first << ' ' << tile << ' ' << row << ' ' << col;
        }
  }
}

TEST(PackFp4, Mxfp4ComesBackExactly) {
  constexpr std::int64_t kRows = 32, kCols = 144;  // the last block of 32 is not whole
  const Fp4Source m = random_source(kRows, kCols, 32, 60, 140, 3);
  std::vector<std::byte> out(static_cast<std::size_t>(mxfp4_pair_bytes(kCols)));
  pack_mxfp4_pair({&m, &m}, {0, 16}, {140, 140}, out.data());
  for (int tile = 0; tile < 2; ++tile)
    for (int row = 0; row < kTileRows; ++row)
      for (std::int64_t col = 0; col < kCols; ++col) {
        const float scale = f8e8m0{scale_of(m, tile * 16 + row, col, 32)}.to_float();
        ASSERT_EQ(unpack_mxfp4(out.data(), tile, row, col) * 0x1p13f, code_of(m, tile * 16 + row, col) * scale)
            << tile << row << col;
      }
}

}  // namespace
}  // namespace conclave::cuda
