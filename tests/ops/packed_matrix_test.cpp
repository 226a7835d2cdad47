#include "ops/cpu/packed_matrix.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cpu/dispatch.h"
#include "quant/codec.h"
#include "tests/ops/bench.h"

namespace conclave::test {
namespace {

// The values that a kernel sees: products with unit vectors are exact.
std::vector<float> values_of(const PackedMatrix& packed) {
  const KernelMatrix& m = packed.matrix();
  std::vector<float> out(static_cast<std::size_t>(m.rows * m.cols)), unit(static_cast<std::size_t>(m.cols));
  for (std::int64_t k = 0; k < m.cols; ++k) {
    std::fill(unit.begin(), unit.end(), 0.0f);
    unit[static_cast<std::size_t>(k)] = 1.0f;
    std::vector<float> column(static_cast<std::size_t>(m.rows));
    GemmArgs args{};
    args.w = m;
    args.x = unit.data();
    args.x_stride = m.cols;
    args.tokens = 1;
    args.out = column.data();
    args.out_stride = m.rows;
    args.row_end = m.rows;
    kernel_table(CpuIsa::scalar).gemm[packed.format()](&args);
    for (std::int64_t r = 0; r < m.rows; ++r) out[static_cast<std::size_t>(r * m.cols + k)] = column[static_cast<std::size_t>(r)];
  }
  return out;
}

std::vector<float> decoded(const QuantMatrix& m) {
  std::vector<float> out(static_cast<std::size_t>(m.rows * m.cols));
  for (std::int64_t r = 0; r < m.rows; ++r)
    codec_for(m.scheme).decode_row(m, r,
                                   std::span(out).subspan(static_cast<std::size_t>(r * m.cols), static_cast<std::size_t>(m.cols)));
  return out;
}

// global is applied after the sum by kernels and before it by codecs: the last bit may differ.
void expect_same_values(const QuantMatrix& m, const PackedMatrix& packed) {
  EXPECT_TRUE(close(values_of(packed), decoded(m), 3e-7, 0)) << packed.describe();
}

// A matrix like `m` whose codes and scales lie column by column, as stacked experts of some checkpoints do.
struct Transposed {
  explicit Transposed(const QuantMatrix& m) : matrix(m) {
    transpose(matrix.codes, codes);
    if (matrix.scales) transpose(matrix.scales, scales);
    if (matrix.zeros) transpose(matrix.zeros, zeros);
  }
  static void transpose(ConstTensorView& v, std::vector<std::byte>& memory) {
    const auto element = static_cast<std::size_t>(size_of(v.dtype));
    memory.resize(static_cast<std::size_t>(v.bytes()));
    for (std::int64_t r = 0; r < v.shape[0]; ++r)
      for (std::int64_t c = 0; c < v.shape[1]; ++c)
        std::memcpy(&memory[static_cast<std::size_t>(c * v.shape[0] + r) * element],
                    v.data + static_cast<std::size_t>(r * v.stride[0] + c * v.stride[1]) * element, element);
    ConstTensorView out(memory.data(), v.dtype, v.shape);
    out.stride = {1, v.shape[0], 0, 0};
    v = out;
  }
  QuantMatrix matrix;
  std::vector<std::byte> codes, scales, zeros;
};

QuantScheme int4_group(std::int16_t group, bool zeros) {
  QuantScheme s = zeros ? kInt4Group128Zero : kInt4Group128;
  s.scale_cols = group;
  return s;
}

const QuantScheme kSchemes[] = {
    kF32, kBf16, kFp8Tensor, kFp8Channel, kFp8Block128, kNvfp4, kMxfp4, int4_group(32, false), int4_group(32, true)};

TEST(PackedMatrix, KeepsEveryValueInPlaceAndTransposed) {
  std::mt19937 random(8);
  const std::int64_t rows = 19, cols = 160;
  for (const QuantScheme& scheme : kSchemes) {
    ASSERT_TRUE(PackedMatrix::supports(scheme));
    const OwnedMatrix owned = codec_for(scheme).encode(Tensor::random({rows, cols}, random).values, rows, cols, scheme);
    const PackedMatrix direct(owned.matrix);
    EXPECT_EQ(direct.describe(), to_string(scheme) + " in place");
    EXPECT_EQ(direct.matrix().codes, reinterpret_cast<const std::uint8_t*>(owned.matrix.codes.data));
    expect_same_values(owned.matrix, direct);

    const Transposed transposed(owned.matrix);
    const PackedMatrix copied(transposed.matrix);
    EXPECT_EQ(copied.describe(), to_string(scheme) + " copied");
    EXPECT_EQ(values_of(copied), values_of(direct));
  }
}

TEST(PackedMatrix, UsesPartOfAWiderMatrixInPlace) {
  std::mt19937 random(8);
  const OwnedMatrix owned = codec_for(kNvfp4).encode(Tensor::random({8, 64}, random).values, 8, 64, kNvfp4);
  QuantMatrix slice = owned.matrix;  // every second row: one half of an interleaved gate and up
  slice.rows = 4;
  slice.codes = ConstTensorView(owned.matrix.codes.data, DType::u8, {4, 32});
  slice.codes.stride[0] = 64;
  slice.scales = ConstTensorView(owned.matrix.scales.data, DType::f8e4m3, {4, 4});
  slice.scales.stride[0] = 8;
  const PackedMatrix packed(slice);
  EXPECT_EQ(packed.owned_bytes(), 0u);
  expect_same_values(slice, packed);
}

// Tensors in a file may start at any byte; kernels read bf16 and f32 where they are aligned only.
TEST(PackedMatrix, CopiesWhatIsNotAligned) {
  std::mt19937 random(8);
  const OwnedMatrix owned = codec_for(kBf16).encode(Tensor::random({3, 10}, random).values, 3, 10, kBf16);
  std::vector<std::byte> shifted(61);
  std::memcpy(shifted.data() + 1, owned.matrix.codes.data, 60);
  QuantMatrix m = owned.matrix;
  m.codes.data = shifted.data() + 1;
  const PackedMatrix packed(m);
  EXPECT_EQ(packed.describe(), "bf16 copied");
  EXPECT_EQ(values_of(packed), values_of(PackedMatrix(owned.matrix)));
}

QuantMatrix f16_matrix(const std::vector<f16>& values, std::int64_t rows, std::int64_t cols) {
  QuantMatrix m;
  m.scheme = kF16;
  m.rows = rows;
  m.cols = cols;
  m.codes = ConstTensorView(reinterpret_cast<const std::byte*>(values.data()), DType::f16, {rows, cols});
  return m;
}

TEST(PackedMatrix, F16BecomesBf16WhenThatIsExactAndF32Otherwise) {
  const std::vector<f16> coarse = {{0x3c00}, {0xc000}, {0x3555 & 0xffe0}, {0x0000}};  // 1, -2, and 8 significant bits
  const PackedMatrix narrow(f16_matrix(coarse, 2, 2));
  EXPECT_EQ(narrow.describe(), "f16 decoded to bf16");
  EXPECT_EQ(values_of(narrow), decoded(f16_matrix(coarse, 2, 2)));
  const std::vector<f16> fine = {{0x3c00}, {0x3c01}, {0x0001}, {0x7bff}};  // 1 + 2^-10, 2^-24, 65504
  const PackedMatrix wide(f16_matrix(fine, 2, 2));
  EXPECT_EQ(wide.describe(), "f16 decoded to f32");
  EXPECT_EQ(values_of(wide), (std::vector<float>{1.0f, 1.0009765625f, 0x1p-24f, 65504.0f}));
}

TEST(PackedMatrix, Int4OfOddShapeIsDecoded) {
  std::mt19937 random(8);
  const OwnedMatrix owned = codec_for(kInt4Group128).encode(Tensor::random({5, 77}, random).values, 5, 77, kInt4Group128);
  const PackedMatrix packed(owned.matrix);
  EXPECT_NE(packed.describe().find("decoded"), std::string::npos) << packed.describe();
  EXPECT_EQ(values_of(packed), decoded(owned.matrix));
}

TEST(PackedMatrix, RefusesWhatNobodyDecodes) {
  QuantScheme strange = kNvfp4;
  strange.scale_cols = 17;
  EXPECT_FALSE(PackedMatrix::supports(strange));
  EXPECT_FALSE(PackedMatrix::supports(kFp8Token128));
}

TEST(PackedMatrix, MovesWithItsMemory) {
  std::mt19937 random(8);
  const OwnedMatrix owned = codec_for(kFp8Channel).encode(Tensor::random({5, 40}, random).values, 5, 40, kFp8Channel);
  const Transposed transposed(owned.matrix);
  PackedMatrix first(transposed.matrix);
  const std::vector<float> before = values_of(first);
  const PackedMatrix second = std::move(first);
  EXPECT_EQ(values_of(second), before);
}

}  // namespace
}  // namespace conclave::test
