// Stands in for cuda/device_cuda.cpp in builds without CUDA.
#include "conclave/error.h"
#include "device/device.h"

namespace conclave {

std::vector<DeviceCaps> find_cuda_devices() noexcept { return {}; }

std::unique_ptr<Device> open_cuda_device(int) {
  throw Error(Errc::unsupported, "this build has no CUDA; configure with -DCONCLAVE_CUDA=ON, or use the CPU");
}

}  // namespace conclave
