// The loops that limits are measured with do all the work that they count: each is asked for what it computed.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/buffer.h"
#include "kernels/cpu/dispatch.h"
#include "tests/kernels/runnable.h"

namespace conclave::test {
namespace {

class Limits : public testing::TestWithParam<CpuIsa> {
 protected:
  const KernelTable& kernels = kernel_table(GetParam());
};

TEST_P(Limits, EveryWordIsRead) {
  std::mt19937_64 random(1);
  for (const std::int64_t n : {1024, 2048, 1024 * 37}) {
    const Buffer buffer = allocate_host(static_cast<std::size_t>(n));
    std::uint64_t expected = 0;
    for (std::int64_t i = 0; i < n; i += 8) {
      const std::uint64_t word = random();
      std::memcpy(buffer.data() + i, &word, 8);
      expected ^= word;
    }
    EXPECT_EQ(kernels.read_streams(reinterpret_cast<const std::uint8_t*>(buffer.data()), n), expected) << n;
  }
}

TEST_P(Limits, EveryProductIsComputed) {
  for (const auto loop : {kernels.multiply_adds, kernels.byte_products}) {
    double sum = -1.0;
    const std::int64_t once = loop(1, &sum);
    EXPECT_EQ(sum, static_cast<double>(once));
    EXPECT_GE(once, 32);
    EXPECT_EQ(loop(1001, &sum), 1001 * once);
    EXPECT_EQ(sum, 1001.0 * static_cast<double>(once));
    EXPECT_EQ(loop(0, &sum), 0);
    EXPECT_EQ(sum, 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Limits, testing::ValuesIn(runnable_isas()),
                         [](const testing::TestParamInfo<CpuIsa>& isa) { return isa_name(isa.param); });

}  // namespace
}  // namespace conclave::test
