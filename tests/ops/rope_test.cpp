#include <gtest/gtest.h>

#include <cstring>

#include "tests/ops/bench.h"

namespace conclave::test {
namespace {

struct Heads {
  int head_dim, rotary_dim;
  bool interleaved;
  float magnitude;
};

const Heads kHeads[] = {{2, 2, false, 1.0f},   {64, 64, false, 1.3465736f}, {128, 64, false, 1.0f},
                        {192, 64, true, 1.0f}, {96, 90, true, 1.1f},        {256, 256, false, 1.0f}};

std::vector<float> frequencies(int rotary_dim) {
  std::vector<float> inv_freq;
  for (int i = 0; i < rotary_dim; i += 2)
    inv_freq.push_back(static_cast<float>(std::pow(1e6, -i / static_cast<double>(rotary_dim))));
  return inv_freq;
}

TEST(Rope, AgreesWithTheReference) {
  Bench reference = Bench::reference();
  std::mt19937 random(2);
  for (const Heads& h : kHeads) {
    const std::vector<float> inv_freq = frequencies(h.rotary_dim);
    const Rope rope{h.head_dim, h.rotary_dim, h.interleaved, inv_freq, h.magnitude};
    for (std::int64_t tokens : {0, 1, 5, 33}) {
      std::vector<std::int32_t> positions;
      for (std::int64_t t = 0; t < tokens; ++t) positions.push_back(static_cast<std::int32_t>(t * t * 117));
      const Tensor x = Tensor::random({tokens, 3, h.head_dim}, random);
      Tensor want = x;
      reference.ops().rope(want.view(), positions, rope, reference.stream());
      for (Bench& bench : cpu_benches()) {
        Tensor got = x;
        bench.ops().rope(got.view(), positions, rope, bench.stream());
        EXPECT_TRUE(close(got.values, want.values, 0, 2e-6)) << bench.ops().name() << " " << h.head_dim;
      }
    }
  }
}

// What is not turned is not touched, and turning keeps every pair's length times the magnitude.
TEST(Rope, PassesTheRestAndKeepsLengths) {
  std::mt19937 random(4);
  const std::vector<float> inv_freq = frequencies(20);
  const Rope rope{32, 20, false, inv_freq, 2.0f};
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  for (Bench& bench : benches) {
    const Tensor x = Tensor::random({1, 1, 32}, random);
    Tensor turned = x;
    const std::vector<std::int32_t> position = {12345};
    bench.ops().rope(turned.view(), position, rope, bench.stream());
    EXPECT_EQ(std::memcmp(&turned.values[20], &x.values[20], 12 * sizeof(float)), 0);
    for (std::size_t i = 0; i < 10; ++i)
      EXPECT_NEAR(std::hypot(turned.values[i], turned.values[i + 10]), 2.0f * std::hypot(x.values[i], x.values[i + 10]), 1e-5);
  }
}

}  // namespace
}  // namespace conclave::test
