#pragma once
// Launches recorded once and repeated as a whole.
#include <functional>

#include "device/cuda/stream_cuda.h"

namespace conclave {

class CudaGraph {
 public:
  // Records what `launches` puts on the stream instead of running it. Throws Error{device}.
  CudaGraph(CudaStream& stream, const std::function<void()>& launches);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // On any stream of the device. Throws Error{device}.
  void launch(CudaStream&) const;

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace conclave
