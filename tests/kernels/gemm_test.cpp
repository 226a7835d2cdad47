// Every gemm of every instruction set this processor runs, against float64 sums over independently decoded weights. All buffers end
// at guard pages, so that each test is a test of bounds as well.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/cpu/dispatch.h"
#include "tests/kernels/gemm_case.h"
#include "tests/kernels/guarded.h"
#include "tests/kernels/runnable.h"

namespace conclave::test {
namespace {

constexpr float kUntouched = -12345.0f;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One call's activations and outputs.
struct Call {
  Guarded<float> x;
  std::int64_t x_stride;
  std::vector<std::int32_t> gathered;  // empty: tokens in order
  std::int64_t tokens;

  const std::int32_t* x_rows() const { return gathered.empty() ? nullptr : gathered.data(); }
};

Guarded<float> random_activations(std::int64_t rows, std::int64_t stride, std::int64_t cols, Random& random) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  Guarded<float> x(rows == 0 ? 0 : static_cast<std::size_t>((rows - 1) * stride + cols));
  for (float& v : x) v = normal(random);
  for (std::int64_t r = 0; r + 1 < rows; ++r) {
    for (std::int64_t k = cols; k < stride; ++k) x[static_cast<std::size_t>(r * stride + k)] = kNan;  // not to be read
  }
  return x;
}

Call make_call(const GemmCase& c, std::int64_t tokens, bool gather, Random& random) {
  const std::int64_t stride = c.shape.cols + (gather ? 3 : 0), rows = gather ? tokens + 2 : tokens;
  Call call{random_activations(rows, stride, c.shape.cols, random), stride, {}, tokens};
  for (std::int64_t t = 0; gather && t < tokens; ++t) {
    call.gathered.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(rows)));
  }
  return call;
}

// out[t * rows + r], kUntouched where the kernel wrote nothing.
std::vector<float> run(const KernelTable& table, const GemmCase& c, const Call& call, std::int64_t begin, std::int64_t end,
                       std::int64_t first_token, std::int64_t tokens) {
  const std::int64_t rows = c.shape.rows;
  Guarded<float> out(static_cast<std::size_t>(tokens * rows));
  for (float& v : out) v = kUntouched;
  const std::vector<std::int32_t> some =
      call.gathered.empty()
          ? std::vector<std::int32_t>()
          : std::vector<std::int32_t>(call.gathered.begin() + first_token, call.gathered.begin() + first_token + tokens);
  const Guarded<std::int32_t> x_rows(some);
  GemmArgs args{};
  args.w = c.matrix();
  args.x = call.x.data() + (call.gathered.empty() ? first_token * call.x_stride : 0);
  args.x_stride = call.x_stride;
  args.x_rows = some.empty() ? nullptr : x_rows.data();
  args.tokens = tokens;
  args.out = out.data();
  args.out_stride = rows;
  args.row_begin = begin;
  args.row_end = end;
  table.gemm[c.shape.format](&args);
  return {out.begin(), out.end()};
}

void expect_close(const GemmCase& c, const Call& call, const std::vector<float>& out, std::int64_t begin, std::int64_t end) {
  const Expected e = expected(c, call.x.data(), call.x_stride, call.x_rows(), call.tokens);
  for (std::int64_t t = 0; t < call.tokens; ++t) {
    for (std::int64_t r = 0; r < c.shape.rows; ++r) {
      const auto i = static_cast<std::size_t>(t * c.shape.rows + r);
      if (r < begin || r >= end) {
        ASSERT_EQ(out[i], kUntouched) << "row " << r << " is outside the range";
      } else {
        ASSERT_NEAR(static_cast<double>(out[i]), e.out[i], 1e-6 * e.magnitude[i]) << "row " << r << " token " << t;
      }
    }
  }
}

class Gemm : public testing::TestWithParam<std::tuple<CpuIsa, GemmFormat>> {
 protected:
  const KernelTable& table() const { return kernel_table(std::get<0>(GetParam())); }
  GemmFormat format() const { return std::get<1>(GetParam()); }
  std::vector<Shape> shapes() const {
    std::vector<Shape> all;
    for (std::int64_t cols :
         {1, 2, 7, 8, 15, 16, 17, 30, 31, 32, 33, 47, 48, 63, 64, 65, 96, 112, 144, 160, 208, 509, 512, 528, 541, 768}) {
      if (cols % column_step(format()) != 0) continue;
      all.push_back({format(), 1 + cols % 6, cols});
      if (format() != kGemmFp8 && format() != kGemmInt4) continue;
      for (std::int32_t width : {2, 6, 16, 32, 48, 64, 100, 128, 1000}) all.push_back({format(), 7, cols, 3, width, 5});
    }
    return all;
  }
};

TEST_P(Gemm, MatchesFloat64) {
  Random random(1);
  for (const Shape& shape : shapes()) {
    const GemmCase c = GemmCase::random(shape, random);
    for (std::int64_t tokens : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 34}) {
      if (tokens > 9 && shape.cols < 200) continue;
      const bool gather = (tokens + shape.cols) % 2 != 0;
      const Call call = make_call(c, tokens, gather, random);
      SCOPED_TRACE(testing::Message() << "cols " << shape.cols << " scale_cols " << shape.scale_cols << " tokens " << tokens);
      expect_close(c, call, run(table(), c, call, 0, shape.rows, 0, tokens), 0, shape.rows);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Gemm, WritesOnlyTheRowsAskedFor) {
  Random random(2);
  const GemmCase c = GemmCase::random({format(), 11, 96, 2, 32}, random);
  for (std::int64_t begin = 0; begin <= 11; begin += 2) {
    for (std::int64_t end = begin; end <= 11; end += 3) {
      for (std::int64_t tokens : {1, 2, 5}) {
        const Call call = make_call(c, tokens, false, random);
        expect_close(c, call, run(table(), c, call, begin, end, 0, tokens), begin, end);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The same bits for a row and a token whatever is computed beside them.
TEST_P(Gemm, IsBatchInvariant) {
  Random random(3);
  for (const Shape& shape : shapes()) {
    const GemmCase c = GemmCase::random(shape, random);
    const std::int64_t tokens = shape.cols >= 200 ? 70 : 9;
    const Call call = make_call(c, tokens, shape.cols % 2 == 0, random);
    const std::vector<float> all = run(table(), c, call, 0, shape.rows, 0, tokens);
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t count : {1, 2, 3, 4, 5, 6}) {
        if (t + count > tokens || (t > 8 && count > 2)) continue;
        const std::int64_t begin = (t + count) % shape.rows;
        const std::vector<float> some = run(table(), c, call, begin, shape.rows, t, count);
        for (std::int64_t i = 0; i < count; ++i) {
          for (std::int64_t r = begin; r < shape.rows; ++r) {
            const float a = all[static_cast<std::size_t>((t + i) * shape.rows + r)],
                        b = some[static_cast<std::size_t>(i * shape.rows + r)];
            ASSERT_EQ(std::memcmp(&a, &b, 4), 0)
                << "cols " << shape.cols << " row " << r << " token " << t + i << " of " << count << ": " << a << " and " << b;
          }
        }
      }
    }
  }
}

// With a single 1 among zeros, the output is one weight: every code under every scale, exactly.
void expect_each_weight_exact(const KernelTable& table, const GemmCase& c) {
  const std::int64_t cols = c.shape.cols;
  for (const std::int64_t tokens : {cols, std::int64_t{1}}) {
    for (std::int64_t first = 0; first < cols; first += tokens) {
      Call call{Guarded<float>(static_cast<std::size_t>(tokens * cols)), cols, {}, tokens};
      for (float& v : call.x) v = 0;
      for (std::int64_t t = 0; t < tokens; ++t) call.x[static_cast<std::size_t>(t * cols + first + t)] = 1;
      const std::vector<float> out = run(table, c, call, 0, c.shape.rows, 0, tokens);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t r = 0; r < c.shape.rows; ++r) {
          double reference = 0;  // a NaN or an infinity anywhere in the row reaches the sum
          for (std::int64_t k = 0; k < cols; ++k) {
            reference += static_cast<double>(static_cast<float>(c.value(r, k))) * (k == first + t ? 1.0 : 0.0);
          }
          const auto want = static_cast<float>(reference);
          const float got = out[static_cast<std::size_t>(t * c.shape.rows + r)];
          ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
              << "row " << r << " column " << first + t << " tokens " << tokens << ": " << got << ", not " << want;
        }
      }
    }
  }
}

class ExactWeights : public testing::TestWithParam<CpuIsa> {
 protected:
  const KernelTable& table() const { return kernel_table(GetParam()); }
};

TEST_P(ExactWeights, Fp8EveryCode) {
  for (const float scale : {1.0f, 0.0f, 0x1p-130f, 0.1f, 3.0e35f}) {
    GemmCase c({kGemmFp8, 256, 3, 256, 3});
    for (int r = 0; r < 256; ++r) {
      for (int k = 0; k < 3; ++k) c.codes[static_cast<std::size_t>(r * 3 + k)] = k == 1 ? static_cast<std::uint8_t>(r) : 0;
    }
    std::memcpy(c.scales.data(), &scale, 4);
    expect_each_weight_exact(table(), c);
  }
}

TEST_P(ExactWeights, Nvfp4EveryCodeUnderEveryScale) {
  GemmCase c({kGemmNvfp4, 256, 16});
  for (std::size_t r = 0; r < 256; ++r) {
    for (std::size_t k = 0; k < 16; k += 2) c.codes[r * 8 + k / 2] = static_cast<std::uint8_t>(k | ((k + 1) << 4));
    c.scales[r] = static_cast<std::uint8_t>(r);
  }
  expect_each_weight_exact(table(), c);
}

TEST_P(ExactWeights, Mxfp4EveryCodeUnderEveryScale) {
  GemmCase c({kGemmMxfp4, 256, 32});
  for (std::size_t r = 0; r < 256; ++r) {
    for (std::size_t k = r; k < r + 32; k += 2)
      c.codes[r * 16 + (k - r) / 2] = static_cast<std::uint8_t>(k % 16 | ((k + 1) % 16 << 4));
    c.scales[r] = static_cast<std::uint8_t>(r);
  }
  expect_each_weight_exact(table(), c);
}

TEST_P(ExactWeights, Int4EveryCodeAroundEveryZeroPoint) {
  GemmCase c({kGemmInt4, 16, 34, 1, 16});  // the last block is two columns
  for (std::size_t r = 0; r < 16; ++r) {
    for (std::size_t k = 0; k < 34; k += 2) c.codes[r * 17 + k / 2] = static_cast<std::uint8_t>(k % 16 | ((k + 1) % 16 << 4));
    for (std::size_t block = 0; block < 3; ++block) {
      const float scale = 0.1f * static_cast<float>(block + 1), zero = static_cast<float>(r);
      std::memcpy(c.scales.data() + (r * 3 + block) * 4, &scale, 4);
      std::memcpy(c.zeros.data() + (r * 3 + block) * 4, &zero, 4);
    }
  }
  expect_each_weight_exact(table(), c);
}

TEST_P(ExactWeights, Bf16EveryCode) {
  GemmCase c({kGemmBf16, 65536, 1});
  for (std::uint32_t r = 0; r < 65536; ++r) {
    const auto bits = static_cast<std::uint16_t>(r);
    std::memcpy(c.codes.data() + r * 2, &bits, 2);
  }
  expect_each_weight_exact(table(), c);
}

INSTANTIATE_TEST_SUITE_P(, Gemm,
                         testing::Combine(testing::ValuesIn(runnable_isas()),
                                          testing::Values(kGemmF32, kGemmBf16, kGemmFp8, kGemmNvfp4, kGemmMxfp4, kGemmInt4)),
                         [](const auto& p) { return isa_name(std::get<0>(p.param)) + "_" + format_name(std::get<1>(p.param)); });
INSTANTIATE_TEST_SUITE_P(, ExactWeights, testing::ValuesIn(runnable_isas()), [](const auto& p) { return isa_name(p.param); });

}  // namespace
}  // namespace conclave::test
