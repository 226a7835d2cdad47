// Linear maps of every format against the reference: sizes off every tile, batches of every kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "conclave/error.h"
#include "ops/cpu/tiled_matrix.h"
#include "quant/codec.h"
#include "tests/ops/bench.h"

namespace conclave::test {
namespace {

QuantScheme with_scale(QuantScheme s, DType scale) {
  s.scale = scale;
  return s;
}
QuantScheme with_blocks(QuantScheme s, std::int16_t rows, std::int16_t cols) {
  s.scale_rows = rows;
  s.scale_cols = cols;
  return s;
}

const QuantScheme kSchemes[] = {kF32,
                                kBf16,
                                kFp8Tensor,
                                kFp8Channel,
                                with_scale(kFp8Channel, DType::bf16),
                                kFp8Block128,
                                with_scale(kFp8Block128, DType::f8e8m0),
                                kNvfp4,
                                kMxfp4,
                                kInt4Group128,
                                kInt4Group128Zero,
                                with_blocks(kInt4Group128, 1, 32),
                                with_blocks(kInt4Group128Zero, 1, 0),
                                with_scale(kInt4Group128, DType::f32)};

// Columns that a scheme takes, small and off the kernels' tiles.
std::vector<std::int64_t> columns(const QuantScheme& s) {
  if (s.code == Code::e2m1) return {s.scale_cols, 3 * s.scale_cols, 21 * s.scale_cols};
  if (s.code == Code::int4) return {8, 136, 77, 1000};
  return {1, 7, 129, 1000};
}

class LinearOf : public testing::TestWithParam<QuantScheme> {
 protected:
  OwnedMatrix weight(std::int64_t rows, std::int64_t cols) {
    return codec_for(GetParam()).encode(Tensor::random({rows, cols}, random_, 0.05f).values, rows, cols, GetParam());
  }
  Tensor run(Bench& bench, const Linear& linear, const Tensor& x) {
    Tensor out({x.shape[0], linear.rows()});
    Workspace workspace = bench.workspace(linear.workspace_bytes(x.shape[0]));
    linear.run(x.view(), out.view(), workspace, bench.stream());
    return out;
  }
  // Of row t, what a product may be off because activations are rounded to 16 bits by blocks of 16, at most: the half of a step.
  // Kernels over tiles round so.
  std::vector<float> roundings(const QuantMatrix& m, const Tensor& x, std::int64_t t) {
    const float* row = x.view().row<float>(t);
    std::vector<float> out(static_cast<std::size_t>(m.cols), 0.0f);
    if (!TiledMatrix::supports(m.scheme, m.cols)) return out;
    for (std::int64_t k = 0; k < m.cols; ++k) {
      const std::int64_t begin = k / 16 * 16, end = std::min(begin + 16, m.cols);
      const auto largest = std::max_element(row + begin, row + end, [](float a, float b) { return std::abs(a) < std::abs(b); });
      out[static_cast<std::size_t>(k)] = std::abs(*largest) / 32512 / 2;
    }
    return out;
  }
  // Sum over k of |w| |x|, what rounding errors of a sum are measured by, and what rounded activations add to the error.
  struct Bound {
    double magnitude, rounding;
  };
  std::vector<Bound> bounds(const QuantMatrix& m, const Tensor& x) {
    std::vector<Bound> out;
    std::vector<float> row(static_cast<std::size_t>(m.cols));
    for (std::int64_t t = 0; t < x.shape[0]; ++t) {
      const std::vector<float> rounding = roundings(m, x, t);
      for (std::int64_t r = 0; r < m.rows; ++r) {
        codec_for(m.scheme).decode_row(m, r, row);
        Bound bound{0, 0};
        for (std::size_t k = 0; k < row.size(); ++k) {
          const double weight = std::abs(static_cast<double>(row[k]));
          bound.magnitude += weight * std::abs(static_cast<double>(x.view().row<float>(t)[k]));
          bound.rounding += weight * static_cast<double>(rounding[k]);
        }
        out.push_back(bound);
      }
    }
    return out;
  }
  std::mt19937 random_{9};
};
INSTANTIATE_TEST_SUITE_P(Schemes, LinearOf, testing::ValuesIn(kSchemes), [](const auto& i) { return to_string(i.param); });

TEST_P(LinearOf, AgreesWithTheReference) {
  Bench reference = Bench::reference();
  std::vector<Bench> benches = cpu_benches();
  for (std::int64_t rows : {1, 17, 131}) {
    for (std::int64_t cols : columns(GetParam())) {
      const OwnedMatrix w = weight(rows, cols);
      const Tensor bias = Tensor::random({rows}, random_);
      for (std::int64_t tokens : {0, 1, 2, 3, 7, 8, 33}) {
        const Tensor x = Tensor::random({tokens, cols}, random_);
        const auto expected = reference.ops().make_linear(w.matrix, bias.view());
        const Tensor want = run(reference, *expected, x);
        const std::vector<Bound> bound = bounds(w.matrix, x);
        for (Bench& bench : benches) {
          const auto linear = bench.ops().make_linear(w.matrix, bias.view());
          EXPECT_EQ(linear->workspace_bytes(tokens), bench.ops().linear_workspace_bytes(GetParam(), cols, tokens));
          const Tensor got = run(bench, *linear, x);
          for (std::size_t i = 0; i < want.values.size(); ++i)
            ASSERT_LE(std::abs(static_cast<double>(got.values[i]) - static_cast<double>(want.values[i])),
                      bound[i].rounding + 3e-6 * bound[i].magnitude + 1e-6 * std::abs(static_cast<double>(want.values[i])) + 1e-7)
                << bench.ops().name() << " [" << rows << ", " << cols << "] of " << tokens << " at " << i;
        }
      }
    }
  }
}

TEST_P(LinearOf, ARowIsTheSameAloneAndInABatch) {
  const std::int64_t rows = 150, cols = columns(GetParam()).back();
  const OwnedMatrix w = weight(rows, cols);
  const Tensor x = Tensor::random({70, cols}, random_);
  for (CpuIsa isa : runnable_isas()) {
    Bench one = Bench::cpu(isa, 1), many = Bench::cpu(isa, 3);
    const auto linear = one.ops().make_linear(w.matrix, {}), shared = many.ops().make_linear(w.matrix, {});
    const Tensor together = run(one, *linear, x);
    EXPECT_EQ(run(many, *shared, x).values, together.values);
    for (std::int64_t tokens : {1, 2, 3, 5, 33}) {
      for (std::int64_t first : {std::int64_t{0}, 70 - tokens}) {
        const Tensor part({tokens, cols}, {x.values.begin() + first * cols, x.values.begin() + (first + tokens) * cols});
        const Tensor got = run(many, *shared, part);
        EXPECT_EQ(std::memcmp(got.values.data(), together.values.data() + first * rows, got.values.size() * sizeof(float)), 0)
            << isa_name(isa) << ": " << tokens << " tokens from " << first;
      }
    }
  }
}

// x and out may be slices of wider rows.
TEST(Linear, TakesStridedRows) {
  std::mt19937 random(1);
  const std::int64_t tokens = 5, rows = 20, cols = 48;
  const OwnedMatrix w = codec_for(kBf16).encode(Tensor::random({rows, cols}, random).values, rows, cols, kBf16);
  const Tensor wide = Tensor::random({tokens, 100}, random);
  Tensor narrow({tokens, cols});
  for (std::int64_t t = 0; t < tokens; ++t) std::copy_n(wide.values.begin() + t * 100 + 9, cols, narrow.values.begin() + t * cols);
  ConstTensorView slice(wide.view().data + 9 * sizeof(float), DType::f32, {tokens, cols});
  slice.stride[0] = 100;
  for (Bench& bench : cpu_benches()) {
    const auto linear = bench.ops().make_linear(w.matrix, {});
    Workspace workspace = bench.workspace(linear->workspace_bytes(tokens));
    Tensor want({tokens, rows}), got({tokens, 33});
    TensorView out(got.view().data + 2 * sizeof(float), DType::f32, {tokens, rows});
    out.stride[0] = 33;
    linear->run(narrow.view(), want.view(), workspace, bench.stream());
    linear->run(slice, out, workspace, bench.stream());
    for (std::int64_t t = 0; t < tokens; ++t) {
      EXPECT_EQ(std::memcmp(&got.values[static_cast<std::size_t>(t * 33 + 2)], &want.values[static_cast<std::size_t>(t * rows)],
                            static_cast<std::size_t>(rows) * sizeof(float)),
                0);
      EXPECT_TRUE(std::isnan(got.values[static_cast<std::size_t>(t * 33)]) &&
                  std::isnan(got.values[static_cast<std::size_t>(t * 33 + 2 + rows)]));
    }
  }
}

TEST(Linear, BiasMayBeBf16) {
  const std::vector<float> values(2 * 4, 0.0f);
  const OwnedMatrix w = codec_for(kF32).encode(values, 2, 4, kF32);
  const bf16 bias[] = {bf16::from_float(1.5f), bf16::from_float(-2.0f)};
  const Tensor x({1, 4}, {1, 2, 3, 4});
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  for (Bench& bench : benches) {
    const auto linear =
        bench.ops().make_linear(w.matrix, ConstTensorView(reinterpret_cast<const std::byte*>(bias), DType::bf16, {2}));
    Workspace workspace = bench.workspace(linear->workspace_bytes(1));
    Tensor out({1, 2});
    linear->run(x.view(), out.view(), workspace, bench.stream());
    EXPECT_EQ(out.values, (std::vector<float>{1.5f, -2.0f}));
  }
}

TEST(Linear, SaysWhatItRunsAndRefusesWhatItCannot) {
  const OwnedMatrix w = codec_for(kNvfp4).encode(std::vector<float>(2 * 32, 1.0f), 2, 32, kNvfp4);
  const auto ops = make_cpu_ops(Bench::caps(CpuIsa::scalar, 1));
  EXPECT_EQ(ops->name(), "cpu-scalar");
  EXPECT_EQ(ops->make_linear(w.matrix, {})->describe(), "nvfp4 in place, scalar");
  const auto tiles = make_cpu_ops(Bench::caps(runnable_isas().back(), 1))->make_linear(w.matrix, {});
  if (runnable_isas().back() != CpuIsa::scalar) {
    EXPECT_EQ(tiles->describe().find("nvfp4 in tiles, activations as 16-bit integers"), 0u) << tiles->describe();
    EXPECT_FALSE(tiles->in_place());
  }
  QuantMatrix strange = w.matrix;
  strange.scheme.scale_cols = 17;
  EXPECT_THROW(ops->make_linear(strange, {}), Error);
}

}  // namespace
}  // namespace conclave::test
