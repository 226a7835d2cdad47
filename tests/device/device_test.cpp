#include "device/device.h"

#include <gtest/gtest.h>

#include <atomic>

#include "conclave/error.h"
#include "device/cpu_features.h"

namespace conclave {
namespace {

TEST(CpuDevice, SaysWhatItIs) {
  const std::unique_ptr<Device> device = open_cpu_device();
  EXPECT_FALSE(device->caps().cuda);
  EXPECT_FALSE(device->caps().name.empty());
  EXPECT_EQ(device->caps().isa, detect_cpu_isa());
  EXPECT_EQ(device->caps().threads, usable_threads());
  EXPECT_GT(device->caps().memory_bytes, std::int64_t{16} << 20);
  EXPECT_LT(device->caps().memory_bytes, std::int64_t{1} << 50);
}

TEST(CpuDevice, ItsStreamsRunOnItsPool) {
  const std::unique_ptr<Device> device = open_cpu_device(1);
  EXPECT_EQ(device->caps().threads, 1);
  const std::unique_ptr<Stream> stream = device->new_stream();
  EXPECT_EQ(pool_of(*stream).size(), 1);
  std::atomic<int> ran{0};
  pool_of(*stream).for_each(3, [&](std::int64_t, int) noexcept { ++ran; });
  stream->synchronize();
  EXPECT_EQ(ran.load(), 3);
  EXPECT_EQ(device->allocate(100).size(), 100u);
}

TEST(CudaDevices, AskingNeverThrowsAndWrongIndicesAreErrors) {
  const std::vector<DeviceCaps> devices = find_cuda_devices();
  for (const DeviceCaps& caps : devices) EXPECT_TRUE(caps.cuda && caps.compute_capability >= 50 && caps.memory_bytes > 0);
  EXPECT_THROW(open_cuda_device(static_cast<int>(devices.size())), Error);
  EXPECT_THROW(open_cuda_device(-1), Error);
}

}  // namespace
}  // namespace conclave
