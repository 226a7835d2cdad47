// The element-wise kernels of every instruction set this processor runs, against float64. All buffers end at guard pages.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/bf16.h"
#include "kernels/cpu/dispatch.h"
#include "tests/kernels/guarded.h"
#include "tests/kernels/runnable.h"

namespace conclave::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kLengths[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 1000, 2053};

double wide(float v) { return static_cast<double>(v); }

class Elementwise : public testing::TestWithParam<CpuIsa> {
 protected:
  const KernelTable& table() const { return kernel_table(GetParam()); }

  Guarded<float> floats(int n, float spread = 1.0f) {
    std::normal_distribution<float> normal(0.0f, spread);
    Guarded<float> values(static_cast<std::size_t>(n));
    for (float& v : values) v = normal(random_);
    return values;
  }
  Guarded<std::uint16_t> bf16s(int n) {
    const Guarded<float> values = floats(n);
    Guarded<std::uint16_t> bits(values.size());
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = bf16::from_float(values[i]).bits;
    return bits;
  }
  std::mt19937 random_{7};
};

TEST_P(Elementwise, Dot) {
  for (const int n : kLengths) {
    const Guarded<float> a = floats(n), b = floats(n);
    const Guarded<std::uint16_t> c = bf16s(n);
    double ab = 0, ac = 0, ab_magnitude = 0, ac_magnitude = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double p = wide(a[i]) * wide(b[i]), q = wide(a[i]) * wide(bf16{c[i]}.to_float());
      ab += p, ac += q, ab_magnitude += std::abs(p), ac_magnitude += std::abs(q);
    }
    EXPECT_NEAR(wide(table().dot(a.data(), b.data(), n)), ab, 1e-6 * ab_magnitude) << n;
    EXPECT_NEAR(wide(table().dot_bf16(a.data(), c.data(), n)), ac, 1e-6 * ac_magnitude) << n;
  }
}

TEST_P(Elementwise, Axpy) {
  for (const int n : kLengths) {
    const Guarded<float> x = floats(n), y = floats(n), z = floats(n);
    const Guarded<std::uint16_t> b = bf16s(n);
    const std::vector<float> y0(y.begin(), y.end()), z0(z.begin(), z.end());
    table().axpy(y.data(), -1.7f, x.data(), n);
    table().axpy_bf16(z.data(), 0.3f, b.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double p = wide(-1.7f) * wide(x[i]), q = wide(0.3f) * wide(bf16{b[i]}.to_float());
      EXPECT_NEAR(wide(y[i]), wide(y0[i]) + p, 1.5e-7 * (std::abs(wide(y0[i])) + std::abs(p)));
      EXPECT_NEAR(wide(z[i]), wide(z0[i]) + q, 1.5e-7 * (std::abs(wide(z0[i])) + std::abs(q)));
    }
  }
}

TEST_P(Elementwise, ToBf16RoundsLikeTheType) {
  std::vector<float> values = {0.0f, -0.0f, kInf, -kInf, kNan, -kNan, 1.0f, 3.4e38f, -3.4e38f, 1e-45f, 0x1p-126f};
  for (std::uint32_t upper = 0; upper < 0x10000; upper += 7) {
    for (const std::uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {  // below, at and above the tie
      const std::uint32_t bits = (upper << 16) | lower;
      float value;
      std::memcpy(&value, &bits, 4);
      values.push_back(value);
    }
  }
  const Guarded<float> x(values);
  const Guarded<std::uint16_t> out(values.size());
  table().to_bf16(x.data(), out.data(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], bf16::from_float(x[i]).bits) << i << ": " << x[i];
  for (const int n : kLengths) {
    const Guarded<float> some = floats(n);
    const Guarded<std::uint16_t> bits(some.size());
    table().to_bf16(some.data(), bits.data(), n);
    for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(bits[i], bf16::from_float(some[i]).bits);
  }
}

TEST_P(Elementwise, RmsNorm) {
  for (const int n : kLengths) {
    if (n == 0) continue;
    for (const float spread : {1.0f, 1e-4f, 1e4f}) {
      const Guarded<float> x = floats(n, spread), weight = floats(n), out = floats(n), plain = floats(n);
      double squares = 0;
      for (const float v : x) squares += wide(v) * wide(v);
      const double scale = 1.0 / std::sqrt(squares / n + wide(1e-6f));
      table().rms_norm(x.data(), weight.data(), 1e-6f, out.data(), n);
      table().rms_norm(x.data(), nullptr, 1e-6f, plain.data(), n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = wide(x[i]) * scale;
        ASSERT_NEAR(wide(plain[i]), want, 4e-7 * std::abs(want)) << n;
        ASSERT_NEAR(wide(out[i]), want * wide(weight[i]), 4e-7 * std::abs(want * wide(weight[i]))) << n;
      }
    }
  }
}

TEST_P(Elementwise, RmsNormOfZerosIsZero) {
  const Guarded<float> x(std::vector<float>(19, 0.0f)), out(std::vector<float>(19, 1.0f));
  table().rms_norm(x.data(), nullptr, 1e-6f, out.data(), 19);
  for (const float v : out) EXPECT_EQ(v, 0.0f);
}

TEST_P(Elementwise, SiluMul) {
  for (const int n : kLengths) {
    const Guarded<float> gate = floats(n, 6.0f), up = floats(n), out = floats(n),
                         over_gate(std::vector<float>(gate.begin(), gate.end())), over_up(std::vector<float>(up.begin(), up.end()));
    table().silu_mul(gate.data(), up.data(), out.data(), n);
    table().silu_mul(over_gate.data(), up.data(), over_gate.data(), n);
    table().silu_mul(gate.data(), over_up.data(), over_up.data(), n);
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double g = wide(gate[i]), want = g / (1.0 + std::exp(-g)) * wide(up[i]);
      ASSERT_NEAR(wide(out[i]), want, 6e-7 * std::abs(want));
      ASSERT_EQ(over_gate[i], out[i]);
      ASSERT_EQ(over_up[i], out[i]);
    }
  }
}

TEST_P(Elementwise, SiluOfExtremes) {
  const std::vector<float> gates = {0.0f, -0.0f, 1e30f, -1e30f, 88.0f, -80.0f, -95.0f, -200.0f, 3.4e38f, -3.4e38f, 1e-30f, -1e-40f};
  const Guarded<float> gate(gates), up(std::vector<float>(gates.size(), 1.0f)), out(gates.size());
  table().silu_mul(gate.data(), up.data(), out.data(), static_cast<std::int64_t>(gates.size()));
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const double g = wide(gates[i]), want = g / (1.0 + std::exp(-g));
    EXPECT_NEAR(wide(out[i]), want, 6e-7 * std::abs(want) + 1e-35) << gates[i];
  }
  const Guarded<float> nan_gate(std::vector<float>(3, kNan)), three(std::vector<float>(3, 1.0f));
  table().silu_mul(nan_gate.data(), three.data(), three.data(), 3);
  for (const float v : three) EXPECT_TRUE(std::isnan(v));
}

TEST_P(Elementwise, ScanStep) {
  for (const int n : kLengths) {
    const Guarded<float> state = floats(n), b = floats(n), c = floats(n);
    const std::vector<float> before(state.begin(), state.end());
    const float decay = 0.8125f, input = -1.7f;
    const double got = wide(table().scan_step(state.data(), decay, input, b.data(), c.data(), n));
    double want = 0, size = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double kept = wide(decay) * wide(before[i]), added = wide(input) * wide(b[i]);
      ASSERT_NEAR(wide(state[i]), kept + added, 2e-7 * (std::abs(kept) + std::abs(added))) << n;
      want += wide(state[i]) * wide(c[i]);
      size += std::abs(wide(state[i]) * wide(c[i]));
    }
    EXPECT_NEAR(got, want, 1e-6 * size) << n;
  }
}

TEST_P(Elementwise, ExpSum) {
  for (const int n : kLengths) {
    if (n == 0) continue;
    const Guarded<float> x = floats(n, 8.0f);
    const std::vector<float> before(x.begin(), x.end());
    float most = before[0];
    for (const float v : before) most = std::max(most, v);
    float max = kNan;
    const float sum = table().exp_sum(x.data(), n, &max);
    EXPECT_EQ(max, most);
    double want_sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = std::exp(wide(before[i] - most));
      ASSERT_NEAR(wide(x[i]), want, 2.5e-7 * want);
      want_sum += want;
    }
    EXPECT_NEAR(wide(sum), want_sum, 1e-6 * want_sum);
  }
}

// Over all results that are normal floats, within 2 units in the last place; below, zero or the subnormal.
TEST_P(Elementwise, ExponentialIsAccurate) {
  std::vector<float> values = {0.0f};
  for (float v = -1e-9f; v > -110.0f; v *= 1.0007f) values.push_back(v);
  for (float v = -110.0f; v > -1e38f; v *= 3.0f) values.push_back(v);
  for (const float v : {-87.33654f, -87.336555f, -87.5f, -88.0f, -104.0f, -kInf, -1e-45f}) values.push_back(v);
  const Guarded<float> x(values);
  float max = kNan;
  table().exp_sum(x.data(), static_cast<std::int64_t>(values.size()), &max);
  ASSERT_EQ(max, 0.0f);
  EXPECT_EQ(x[0], 1.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double want = std::exp(wide(values[i])), smallest = 0x1p-126;
    if (want < smallest) {
      ASSERT_TRUE(x[i] >= 0 && wide(x[i]) <= smallest) << values[i] << ": " << x[i];
    } else {
      int exponent;
      std::frexp(want, &exponent);
      ASSERT_NEAR(wide(x[i]), want, 2.0 * std::ldexp(1.0, exponent - 24)) << values[i];
    }
  }
  EXPECT_EQ(x[values.size() - 2], 0.0f) << "of minus infinity";
}

TEST_P(Elementwise, ExpSumOfInfinities) {
  for (const int n : {1, 5, 8, 16, 19, 40}) {
    const auto count = static_cast<std::size_t>(n);
    float max = 0;
    const Guarded<float> masked(std::vector<float>(count, -kInf));
    EXPECT_EQ(table().exp_sum(masked.data(), n, &max), static_cast<float>(n));  // all equal: all e^0
    EXPECT_EQ(max, -kInf);
    for (const float v : masked) EXPECT_EQ(v, 1.0f);

    const Guarded<float> one(std::vector<float>(count, -kInf));
    one[count - 1] = 2.5f;
    EXPECT_EQ(table().exp_sum(one.data(), n, &max), 1.0f);
    EXPECT_EQ(max, 2.5f);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(one[i], i + 1 == count ? 1.0f : 0.0f);

    const Guarded<float> huge(std::vector<float>(count, 1.0f));
    huge[0] = kInf;
    EXPECT_EQ(table().exp_sum(huge.data(), n, &max), 1.0f);
    EXPECT_EQ(max, kInf);

    const Guarded<float> broken(std::vector<float>(count, 1.0f));
    broken[count / 2] = kNan;
    EXPECT_TRUE(std::isnan(table().exp_sum(broken.data(), n, &max)));
    EXPECT_TRUE(std::isnan(broken[count / 2]));
  }
}

INSTANTIATE_TEST_SUITE_P(, Elementwise, testing::ValuesIn(runnable_isas()), [](const auto& p) { return isa_name(p.param); });

}  // namespace
}  // namespace conclave::test
