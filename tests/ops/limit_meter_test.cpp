#include "ops/cpu/limit_meter.h"

#include <gtest/gtest.h>

namespace conclave::test {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(LimitMeter, TakesABufferOfWholePieces) {
  const auto device = open_cpu_device(1);
  EXPECT_EQ(LimitMeter(*device, 32 * kMiB).buffer_bytes(), 32 * kMiB);
  EXPECT_EQ(LimitMeter(*device, 47 * kMiB).buffer_bytes(), 32 * kMiB);
  EXPECT_EQ(LimitMeter(*device, 1).buffer_bytes(), 16 * kMiB);
}

// No absolute speeds, which are the machine's; but no machine that runs this is outside these.
TEST(LimitMeter, GivesSpeedsOfComputers) {
  const auto device = open_cpu_device(2);
  LimitMeter meter(*device, 64 * kMiB);
  for (int i = 0; i < 2; ++i) {
    const LimitSample sample = meter.sample();
    for (const double speed : {sample.read, sample.floats, sample.bytes}) {
      EXPECT_GT(speed, 1e6);
      EXPECT_LT(speed, 1e15);
    }
  }
}

}  // namespace
}  // namespace conclave::test
