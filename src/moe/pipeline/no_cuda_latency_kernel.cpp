// Stands in for cuda_latency_kernel.cpp in builds without CUDA.
#include "conclave/error.h"
#include "moe/pipeline/cuda_latency_kernel.h"

namespace conclave::moe {

std::unique_ptr<MoeKernel> make_cuda_latency_kernel(const MoeProblem&, const ExpertWeights&, Device&) {
  throw Error(Errc::unsupported, "this build has no CUDA; configure with -DCONCLAVE_CUDA=ON, or use the CPU");
}

}  // namespace conclave::moe
