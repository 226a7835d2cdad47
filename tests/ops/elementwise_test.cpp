#include <gtest/gtest.h>

#include <cstring>

#include "quant/codec.h"
#include "tests/ops/bench.h"

namespace conclave::test {
namespace {

const Shape kShapes[] = {{0, 8}, {1, 1}, {2, 7}, {3, 64}, {7, 33}, {8, 128}, {33, 1000}};

class Elementwises : public testing::Test {
 protected:
  Bench reference_ = Bench::reference();
  std::mt19937 random_{3};
};

TEST_F(Elementwises, RmsNormAgreesInPlaceStridedAndWeighted) {
  for (Bench& bench : cpu_benches()) {
    for (const Shape& shape : kShapes) {
      const Tensor x = Tensor::random(shape, random_, 3.0f), weight = Tensor::random({shape[1]}, random_);
      for (const ConstTensorView& w : {weight.view(), ConstTensorView{}}) {
        Tensor want(shape), got(shape), in_place = x;
        reference_.ops().rms_norm(x.view(), w, 1e-6f, want.view(), reference_.stream());
        bench.ops().rms_norm(x.view(), w, 1e-6f, got.view(), bench.stream());
        bench.ops().rms_norm(in_place.view(), w, 1e-6f, in_place.view(), bench.stream());
        EXPECT_TRUE(close(got.values, want.values, 2e-6, 1e-30)) << bench.ops().name() << to_string(shape);
        EXPECT_EQ(in_place.values, got.values);
      }
    }
  }
}

// The heads of a part of a wider row: [T, heads, head_dim] with strides; what lies between is left alone.
TEST_F(Elementwises, RmsNormOfASlice) {
  for (Bench& bench : cpu_benches()) {
    const std::int64_t tokens = 5, heads = 3, dim = 24, width = 100;
    Tensor wide = Tensor::random({tokens, width}, random_);
    const std::vector<float> before = wide.values;
    TensorView slice(wide.view().data + 4 * sizeof(float), DType::f32, {tokens, heads, dim});
    slice.stride = {width, dim, 1, 0};
    bench.ops().rms_norm(slice, {}, 1e-6f, slice, bench.stream());
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t c = 0; c < width; ++c) {
        const auto i = static_cast<std::size_t>(t * width + c);
        if (c < 4 || c >= 4 + heads * dim) {
          EXPECT_EQ(wide.values[i], before[i]);
          continue;
        }
        double squares = 0;
        const std::int64_t first = t * width + 4 + (c - 4) / dim * dim;
        for (std::int64_t d = first; d < first + dim; ++d)
          squares += std::pow(static_cast<double>(before[static_cast<std::size_t>(d)]), 2);
        EXPECT_NEAR(wide.values[i], static_cast<double>(before[i]) / std::sqrt(squares / static_cast<double>(dim) + 1e-6), 1e-5);
      }
    }
  }
}

TEST_F(Elementwises, AddIsExact) {
  for (Bench& bench : cpu_benches()) {
    for (const Shape& shape : kShapes) {
      Tensor x = Tensor::random(shape, random_);
      const Tensor y = Tensor::random(shape, random_);
      std::vector<float> want = x.values;
      for (std::size_t i = 0; i < want.size(); ++i) want[i] += y.values[i];
      bench.ops().add(x.view(), y.view(), bench.stream());
      EXPECT_EQ(x.values, want);
    }
  }
}

TEST_F(Elementwises, ScaleBySigmoidAgrees) {
  for (Bench& bench : cpu_benches()) {
    for (const Shape& shape : kShapes) {
      Tensor want = Tensor::random(shape, random_), got = want;
      const Tensor gate = Tensor::random({shape[0], 1}, random_, 10.0f);
      reference_.ops().scale_by_sigmoid(want.view(), gate.view(), reference_.stream());
      bench.ops().scale_by_sigmoid(got.view(), gate.view(), bench.stream());
      EXPECT_TRUE(close(got.values, want.values, 1e-6, 1e-30));
    }
  }
}

// A slice of wider rows: what lies beside it is left alone.
TEST_F(Elementwises, ScaleRowsAndCopyRowsKeepToTheirRows) {
  const std::int64_t tokens = 4, heads = 2, dim = 6, width = 20;
  const Tensor original = Tensor::random({tokens, width}, random_);
  const std::vector<float> factors = {0.5f, -3.0f, 1.0f, 7.25f};
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  for (Bench& bench : benches) {
    Tensor scaled = original;
    TensorView part(scaled.view().data + 3 * sizeof(float), DType::f32, {tokens, heads, dim});
    part.stride = {width, dim, 1, 0};
    bench.ops().scale_rows(part, factors, bench.stream());
    Tensor copy({tokens, width});
    TensorView from(part.data, DType::f32, {tokens, heads * dim}), to(copy.view().data, DType::f32, {tokens, heads * dim});
    from.stride[0] = to.stride[0] = width;
    bench.ops().copy_rows(from, to, bench.stream());
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t c = 0; c < width; ++c) {
        const auto i = static_cast<std::size_t>(t * width + c);
        const bool inside = c >= 3 && c < 3 + heads * dim;
        EXPECT_EQ(scaled.values[i], original.values[i] * (inside ? factors[static_cast<std::size_t>(t)] : 1.0f));
        if (inside) {
          EXPECT_EQ(copy.values[i - 3], scaled.values[i]);
        }
        if (c >= heads * dim) {
          EXPECT_TRUE(std::isnan(copy.values[i]));
        }
      }
    }
  }
}

TEST_F(Elementwises, ActivateAgreesAndMayWriteOverUp) {
  for (Bench& bench : cpu_benches()) {
    for (const Elementwise kind : {Elementwise::silu, Elementwise::gelu, Elementwise::gelu_tanh, Elementwise::relu2}) {
      for (const Shape& shape : kShapes) {
        const Tensor gate = Tensor::random(shape, random_, 4.0f), up = Tensor::random(shape, random_);
        for (const ConstTensorView& g : {gate.view(), ConstTensorView{}}) {
          Tensor want(shape), got(shape), in_place = up;
          reference_.ops().activate(kind, g, up.view(), want.view(), reference_.stream());
          bench.ops().activate(kind, g, up.view(), got.view(), bench.stream());
          bench.ops().activate(kind, g, in_place.view(), in_place.view(), bench.stream());
          EXPECT_TRUE(close(got.values, want.values, 5e-6, 1e-6))
              << bench.ops().name() << static_cast<int>(kind) << to_string(shape);
          EXPECT_EQ(in_place.values, got.values);
        }
      }
    }
  }
}

TEST_F(Elementwises, GatherCopiesRows) {
  const Tensor x = Tensor::random({9, 37}, random_);
  const std::vector<std::int32_t> ids = {8, 0, 3, 3, 5};
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  for (Bench& bench : benches) {
    Tensor out({5, 37}), none({0, 37});
    bench.ops().gather_rows(x.view(), ids, out.view(), bench.stream());
    bench.ops().gather_rows(x.view(), {}, none.view(), bench.stream());
    for (std::size_t r = 0; r < ids.size(); ++r)
      EXPECT_EQ(std::memcmp(&out.values[r * 37], &x.values[static_cast<std::size_t>(ids[r]) * 37], 37 * sizeof(float)), 0);
  }
}

TEST_F(Elementwises, EmbedDecodesRows) {
  const std::int64_t rows = 11, cols = 64;
  const Tensor values = Tensor::random({rows, cols}, random_);
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  for (const QuantScheme& scheme : {kF32, kBf16, kFp8Channel, kNvfp4}) {
    const OwnedMatrix table = codec_for(scheme).encode(values.values, rows, cols, scheme);
    const std::vector<std::int32_t> ids = {10, 0, 7, 7};
    for (Bench& bench : benches) {
      Tensor out({4, cols});
      bench.ops().embed(table.matrix, ids, out.view(), bench.stream());
      for (std::size_t t = 0; t < ids.size(); ++t) {
        std::vector<float> want(static_cast<std::size_t>(cols));
        codec_for(scheme).decode_row(table.matrix, ids[t], want);
        EXPECT_EQ(std::memcmp(&out.values[t * 64], want.data(), 64 * sizeof(float)), 0);
        if (scheme == kF32) {
          EXPECT_EQ(out.values[t * 64 + 5], values.values[static_cast<std::size_t>(ids[t]) * 64 + 5]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace conclave::test
