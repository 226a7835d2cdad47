#pragma once
// A place that owns memory and runs kernels.
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "device/buffer.h"
#include "device/caps.h"
#include "device/stream.h"

namespace conclave {

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceCaps& caps() const noexcept = 0;
  virtual Buffer allocate(std::size_t bytes) = 0;  // 64-byte aligned; throws Error{out_of_memory}
  virtual std::unique_ptr<Stream> new_stream() = 0;
  // Either side may lie on this device. Not ordered with streams, and done when it returns. Throws Error{device}.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};

// The host's processor with a pool of `threads` (0: as many as may run). It owns the pool that its streams run on, so it must
// outlive them.
std::unique_ptr<Device> open_cpu_device(int threads = 0);

// Caps of the CUDA devices that can be seen; empty when there is none or this build has no CUDA. Never throws: `doctor` asks.
std::vector<DeviceCaps> find_cuda_devices() noexcept;

// The CUDA device at that index of find_cuda_devices(). Its memory is the card's and uninitialised. Throws Error{unsupported}
// when this build has no CUDA, Error{not_found} when there is no such device, Error{device} when the driver refuses.
std::unique_ptr<Device> open_cuda_device(int index);

}  // namespace conclave
