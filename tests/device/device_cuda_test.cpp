// Needs a GPU: ctest -L gpu.
#include <gtest/gtest.h>

#include <cstddef>

#include "conclave/error.h"
#include "device/device.h"

namespace conclave {
namespace {

TEST(CudaDevice, TakesAllocationsAndStreams) {
  if (find_cuda_devices().empty()) GTEST_SKIP() << "no CUDA device can be seen: allocations and streams on a GPU were not tried";
  const std::unique_ptr<Device> device = open_cuda_device(0);
  EXPECT_TRUE(device->caps().cuda);
  const Buffer memory = device->allocate(1 << 20);
  EXPECT_TRUE(memory.on_device());
  EXPECT_NE(memory.data(), nullptr);
  device->new_stream()->synchronize();
  EXPECT_THROW(device->allocate(std::size_t{1} << 45), Error);
}

}  // namespace
}  // namespace conclave
