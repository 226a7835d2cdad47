#include "ops/cpu/tiled_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/math.h"
#include "conclave/error.h"
#include "kernels/cpu/dispatch.h"
#include "quant/codec.h"
#include "tests/kernels/runnable.h"
#include "tests/ops/bench.h"

namespace conclave::test {
namespace {

constexpr QuantScheme kInt4Group32Zero{Code::int4, 1, 32, DType::bf16, true, false, true};

OwnedMatrix random_matrix(const QuantScheme& scheme, std::int64_t rows, std::int64_t cols) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (float& v : values) v = normal(random);
  return codec_for(scheme).encode(values, rows, cols, scheme);
}

std::vector<float> random_rows(std::int64_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& v : x) v = normal(random);
  return x;
}

// Rows first .. first + tokens - 1 of x [.., cols], rounded.
std::vector<IntBlock> int_blocks(const TileMatrix& m, const std::vector<float>& x, std::int64_t first, std::int64_t tokens,
                                 CpuIsa isa) {
  std::vector<IntBlock> blocks(static_cast<std::size_t>(tokens * m.blocks));
  for (std::int64_t t = 0; t < tokens; ++t)
    kernel_table(isa).to_int_blocks(&x[static_cast<std::size_t>((first + t) * m.cols)], m.cols,
                                    &blocks[static_cast<std::size_t>(t * m.blocks)]);
  return blocks;
}

// [tokens, rows] of a matrix times rows x [tokens, cols].
std::vector<float> multiply(const TiledMatrix& w, const std::vector<float>& x, std::int64_t first, std::int64_t tokens,
                            CpuIsa isa) {
  const TileMatrix& m = w.matrix();
  const KernelTable& table = kernel_table(isa);
  const std::vector<IntBlock> blocks = int_blocks(m, x, first, tokens, isa);
  std::vector<float> out(static_cast<std::size_t>(tokens * m.rows));
  TileArgs args{};
  args.w = m;
  args.x = blocks.data();
  args.x_stride = m.blocks;
  args.tokens = tokens;
  args.out = out.data();
  args.out_stride = m.rows;
  args.row_end = m.rows;
  table.tile[w.format()](&args);
  return out;
}

// The same by the codec, in double, and the sums of magnitudes that errors are measured by.
struct Judged {
  std::vector<double> out, size;
};
Judged judge(const QuantMatrix& m, const std::vector<float>& x, std::int64_t tokens) {
  Judged judged;
  std::vector<float> row(static_cast<std::size_t>(m.cols));
  judged.out.resize(static_cast<std::size_t>(tokens * m.rows));
  judged.size.resize(judged.out.size());
  for (std::int64_t r = 0; r < m.rows; ++r) {
    codec_for(m.scheme).decode_row(m, r, row);
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t k = 0; k < m.cols; ++k) {
        const double product = static_cast<double>(row[static_cast<std::size_t>(k)]) *
                               static_cast<double>(x[static_cast<std::size_t>(t * m.cols + k)]);
        judged.out[static_cast<std::size_t>(t * m.rows + r)] += product;
        judged.size[static_cast<std::size_t>(t * m.rows + r)] += std::abs(product);
      }
  }
  return judged;
}

class Tiled : public testing::TestWithParam<std::tuple<CpuIsa, QuantScheme>> {
 protected:
  CpuIsa isa() const { return std::get<0>(GetParam()); }
  const QuantScheme& scheme() const { return std::get<1>(GetParam()); }
};

TEST_P(Tiled, HoldsEveryWeight) {
  const OwnedMatrix owned = random_matrix(scheme(), 21, 160);
  const TiledMatrix tiled(owned.matrix);
  std::vector<float> unit(160 * 160, 0.0f), row(160);
  for (std::size_t k = 0; k < 160; ++k) unit[k * 160 + k] = 1.0f;
  const std::vector<float> got = multiply(tiled, unit, 0, 160, isa());
  for (std::int64_t r = 0; r < 21; ++r) {
    codec_for(scheme()).decode_row(owned.matrix, r, row);
    for (std::size_t k = 0; k < 160; ++k) {
      const float want = row[k], is = got[k * 21 + static_cast<std::size_t>(r)];
      ASSERT_LE(std::abs(is - want), 3e-7f * std::abs(want)) << "row " << r << " column " << k;
    }
  }
}

TEST_P(Tiled, IsCloseToDoubles) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{16, 32}, {37, 544}, {128, 2048}}) {
    const OwnedMatrix owned = random_matrix(scheme(), rows, cols);
    const std::vector<float> x = random_rows(7 * cols);
    const Judged judged = judge(owned.matrix, x, 7);
    const std::vector<float> got = multiply(TiledMatrix(owned.matrix), x, 0, 7, isa());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_LE(std::abs(static_cast<double>(got[i]) - judged.out[i]), 0x1p-15 * judged.size[i])
          << rows << " rows, " << cols << " columns, " << i;
  }
}

TEST_P(Tiled, IsBatchInvariant) {
  const OwnedMatrix owned = random_matrix(scheme(), 37, 544);
  const TiledMatrix tiled(owned.matrix);
  constexpr std::int64_t kTokens = 37;  // more than share a panel
  const std::vector<float> x = random_rows(kTokens * 544), all = multiply(tiled, x, 0, kTokens, isa());
  for (std::int64_t first = 0; first < kTokens; first += first < 5 ? 1 : 8)
    for (std::int64_t count = 1; first + count <= kTokens; count += count < 5 ? 1 : 9) {
      const std::vector<float> some = multiply(tiled, x, first, count, isa());
      ASSERT_EQ(std::memcmp(some.data(), &all[static_cast<std::size_t>(first * 37)], some.size() * sizeof(float)), 0)
          << first << " " << count;
    }
}

// Tokens in any order, and rows from a tile of the middle on: what is outside is left alone.
TEST_P(Tiled, GathersTokensAndWritesOnlyTheRowsAskedFor) {
  const OwnedMatrix owned = random_matrix(scheme(), 45, 544);
  const TiledMatrix tiled(owned.matrix);
  const std::vector<float> x = random_rows(4 * 544), all = multiply(tiled, x, 0, 4, isa());
  const std::vector<std::int32_t> rows{3, 0, 3, 1, 2, 0};
  for (const std::size_t tokens : {std::size_t{1}, std::size_t{2}, rows.size()}) {
    constexpr float kUntouched = -12345.0f;
    std::vector<IntBlock> blocks = int_blocks(tiled.matrix(), x, 0, 4, isa());
    std::vector<float> out(tokens * 45, kUntouched);
    TileArgs args{};
    args.w = tiled.matrix();
    args.x = blocks.data();
    args.x_stride = args.w.blocks;
    args.x_rows = rows.data();
    args.tokens = static_cast<std::int64_t>(tokens);
    args.out = out.data();
    args.out_stride = 45;
    args.row_begin = 16;
    args.row_end = 39;
    kernel_table(isa()).tile[tiled.format()](&args);
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t r = 0; r < 45; ++r)
        ASSERT_EQ(out[t * 45 + r], r < 16 || r >= 39 ? kUntouched : all[static_cast<std::size_t>(rows[t]) * 45 + r])
            << tokens << " tokens: " << t << " row " << r;
  }
}

TEST_P(Tiled, NeverMakesANumberOfNone) {
  const OwnedMatrix owned = random_matrix(scheme(), 16, 64);
  const TiledMatrix tiled(owned.matrix);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> x(64, 1.0f);
    x[40] = bad;
    for (const float v : multiply(tiled, x, 0, 1, isa())) EXPECT_TRUE(std::isnan(v)) << bad;
  }
  for (const float v : multiply(tiled, std::vector<float>(64, 1e-36f), 0, 1, isa())) EXPECT_LE(std::abs(v), 1e-30f);
}

// Columns need not fill the last block of 16.
// Nor need the scales: one for a whole row covers a short block as well.
TEST(TiledMatrixShapes, TheLastBlockMayBeShort) {
  const QuantScheme channel{Code::int4, 1, 0, DType::bf16, true}, channel_zero{Code::int4, 1, 0, DType::bf16, true, false, true};
  for (const QuantScheme& scheme : {kInt4Group128, kInt4Group128Zero, channel, channel_zero}) {
    const OwnedMatrix owned = random_matrix(scheme, 17, 40);
    const std::vector<float> x = random_rows(3 * 40);
    const Judged judged = judge(owned.matrix, x, 3);
    for (const CpuIsa isa : runnable_isas()) {
      const std::vector<float> got = multiply(TiledMatrix(owned.matrix), x, 0, 3, isa);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_LE(std::abs(static_cast<double>(got[i]) - judged.out[i]), 0x1p-15 * judged.size[i])
            << to_string(scheme) << " " << isa_name(isa) << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Tiled,
                         testing::Combine(testing::ValuesIn(runnable_isas()),
                                          testing::Values(kNvfp4, kMxfp4, kInt4Group128, kInt4Group32Zero)),
                         [](const auto& p) { return isa_name(std::get<0>(p.param)) + "_" + std::to_string(p.index); });

// What a whole number of 16-bit integers cannot tell is what rounding leaves: at most half a step of the largest of a block.
TEST(IntBlocks, AreWithinHalfAStep) {
  for (const CpuIsa isa : runnable_isas()) {
    std::vector<float> x = random_rows(160 + 5);
    x[3] = 1e4f;
    std::vector<IntBlock> blocks(11);
    kernel_table(isa).to_int_blocks(x.data(), 165, blocks.data());
    for (std::size_t b = 0; b < 11; ++b) {
      std::int32_t sum = 0;
      for (std::size_t i = 0; i < 16; ++i) {
        const std::int32_t q = 256 * blocks[b].high[i] + blocks[b].low[i];
        sum += q;
        const float want = b * 16 + i < 165 ? x[b * 16 + i] : 0.0f;
        ASSERT_LE(std::abs(static_cast<float>(q) * blocks[b].scale - want), 0.5001f * blocks[b].scale)
            << isa_name(isa) << " " << b << " " << i;
      }
      ASSERT_EQ(sum, blocks[b].sum);
    }
  }
}

TEST(TiledMatrixErrors, AScaleThatIsNoMagnitudeIsRefused) {
  for (const std::uint8_t bad : {std::uint8_t{0x7f}, std::uint8_t{0xff}, std::uint8_t{0x81}}) {
    const OwnedMatrix owned = random_matrix(kNvfp4, 16, 32);
    std::vector<std::uint8_t> scales(32, 0x38);
    scales[9] = bad;
    QuantMatrix m = owned.matrix;
    m.scales.data = reinterpret_cast<const std::byte*>(scales.data());
    try {
      TiledMatrix tiled(m);
      FAIL() << int{bad};
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::corrupt);
      EXPECT_FALSE(std::string(e.what()).empty());
    }
  }
}

}  // namespace
}  // namespace conclave::test
