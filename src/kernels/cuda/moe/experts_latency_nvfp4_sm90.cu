// Experts of few tokens with NVFP4 weights, for compute capability 9.0.
#include "device/cuda/stream_cuda.h"
#include "kernels/cuda/common/cooperative.h"
#include "kernels/cuda/moe/experts_latency.cuh"

namespace conclave::cuda {
namespace {

using Kernel = ExpertsLatency<Nvfp4Scales>;

__global__ void __launch_bounds__(kThreads, 1) experts_latency_nvfp4_sm90(const __grid_constant__ ExpertsArgs args) {
  extern __shared__ __align__(128) char shared[];
  Kernel::run(args, *reinterpret_cast<ExpertsShared<Nvfp4Units::kBytes>*>(shared));
}

}  // namespace

int prepare_experts_nvfp4() {
  return prepare_cooperative(reinterpret_cast<const void*>(experts_latency_nvfp4_sm90), kThreads, Kernel::kSharedBytes);
}

void launch_experts_nvfp4(const ExpertsArgs& args, Stream& stream) noexcept {
  launch_cooperative(experts_latency_nvfp4_sm90, args.blocks, kThreads, Kernel::kSharedBytes,
                     static_cast<CudaStream&>(stream).handle(), args);
}

}  // namespace conclave::cuda
