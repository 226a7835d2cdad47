#pragma once
// Routing and experts on a CUDA device, two launches.
#include <memory>

#include "moe/backend.h"

namespace conclave::moe {

// A problem that the backend cuda_latency supports. Packs the weights on the host, an expert at a time, and keeps them on the
// device; views of a call lie there too. Throws Error{out_of_memory, device}, and Error{unsupported} in builds without CUDA.
std::unique_ptr<MoeKernel> make_cuda_latency_kernel(const MoeProblem&, const ExpertWeights&, Device&);

}  // namespace conclave::moe
