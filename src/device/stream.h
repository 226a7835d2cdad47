#pragma once
// Where work is launched, in order: on a CPU the pool that runs it at once, on a GPU a queue that runs it later.
#include "device/thread_pool.h"

namespace conclave {

class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;  // returns when everything launched so far is done; throws Error{device}
};

class CpuStream final : public Stream {
 public:
  explicit CpuStream(ThreadPool& pool) : pool_(pool) {}
  void synchronize() override {}
  ThreadPool& pool() const noexcept { return pool_; }

 private:
  ThreadPool& pool_;
};

// Kernels of the CPU are only ever launched on a CpuStream: the device that made the kernel made the stream.
inline ThreadPool& pool_of(Stream& stream) noexcept { return static_cast<CpuStream&>(stream).pool(); }

}  // namespace conclave
