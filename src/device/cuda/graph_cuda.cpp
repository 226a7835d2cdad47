#include "device/cuda/graph_cuda.h"

#include <fmt/core.h>

#include "conclave/error.h"

namespace conclave {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Error(Errc::device, fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

}  // namespace

CudaGraph::CudaGraph(CudaStream& stream, const std::function<void()>& launches) {
  check(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal), "recording a CUDA graph");
  launches();
  cudaGraph_t recorded = nullptr;
  check(cudaStreamEndCapture(stream.handle(), &recorded), "recording a CUDA graph");
  const cudaError_t status = cudaGraphInstantiate(&graph_, recorded, 0);
  cudaGraphDestroy(recorded);
  check(status, "preparing a CUDA graph");
}

CudaGraph::~CudaGraph() { cudaGraphExecDestroy(graph_); }

void CudaGraph::launch(CudaStream& stream) const { check(cudaGraphLaunch(graph_, stream.handle()), "launching a CUDA graph"); }

}  // namespace conclave
