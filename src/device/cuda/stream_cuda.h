#pragma once
// A queue of work on a CUDA device.
#include <cuda_runtime_api.h>

#include "device/stream.h"

namespace conclave {

class CudaStream final : public Stream {
 public:
  // On the device at `index`. Throws Error{device}.
  explicit CudaStream(int index);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void synchronize() override;
  cudaStream_t handle() const noexcept { return stream_; }

 private:
  int index_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace conclave
