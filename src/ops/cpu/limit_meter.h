#pragma once
// What the machine does at most, measured beside whatever is being timed, so that both meet the same neighbours:
//   read:   bytes a second out of memory: all threads take 16 MiB pieces of a buffer far larger than the last-level cache, on huge
//           pages where the system gives them (madvise), and read each as four streams;
//   floats: float32 operations a second (a multiply-add is two), on registers alone;
//   bytes:  the same for products of 8-bit integers summed to 32 bits, by the widest instruction that the instruction set has.
// The loops are those of the kernel table (read_streams, multiply_adds, byte_products). Work is handed out in small pieces, as the
// engine does it, so a thread that the system takes away costs its own share and no more.
#include <cstdint>
#include <memory>

#include "device/buffer.h"
#include "device/device.h"
#include "kernels/cpu/table.h"

namespace conclave {

struct LimitSample {
  double read = 0.0;    // bytes per second
  double floats = 0.0;  // operations per second
  double bytes = 0.0;
};

class LimitMeter {
 public:
  static constexpr std::int64_t kDefaultBytes = std::int64_t{512} << 20;

  // `device` is a CPU's and outlives the meter; nothing else may run on its threads during a sample. The buffer is `bytes` or what
  // a quarter of the usable memory holds, at least 16 MiB; its pages are all touched here. Throws Error{out_of_memory}.
  explicit LimitMeter(Device& device, std::int64_t bytes = kDefaultBytes);

  // Each once: some tens of milliseconds.
  LimitSample sample() noexcept;
  std::int64_t buffer_bytes() const noexcept { return static_cast<std::int64_t>(buffer_.size()); }

 private:
  const KernelTable& kernels_;
  std::unique_ptr<Stream> stream_;
  Buffer buffer_;
};

}  // namespace conclave
