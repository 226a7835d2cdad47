#pragma once
// A device that is not here, for plans: what would run on a machine with such caps. It owns no memory and runs nothing.
#include <memory>
#include <span>
#include <string_view>

#include "device/device.h"

namespace conclave {

// "scalar", "avx2", "avx512" (a CPU with kernels of that level); "sm_80" to "sm_121" (an NVIDIA GPU of that compute capability).
std::span<const std::string_view> describable_devices();
// Throws Error{bad_input} naming all of them when there is no such name.
std::unique_ptr<Device> describe_device(std::string_view name);

}  // namespace conclave
