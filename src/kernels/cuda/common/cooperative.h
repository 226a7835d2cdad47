#pragma once
// Host side of cooperative kernels: one block on every multiprocessor, all resident at once.
#include <cuda_runtime.h>

#include <string>

#include "base/check.h"
#include "conclave/error.h"

namespace conclave::cuda {

// Raises a kernel's limit of shared memory; returns the number of blocks it is launched with. Throws Error{device}.
inline int prepare_cooperative(const void* kernel, int threads, std::size_t shared_bytes) {
  int device = 0, blocks = 0, multiprocessors = 0;
  const auto check = [](cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw Error(Errc::device, std::string(what) + ": " + cudaGetErrorString(status));
  };
  check(cudaGetDevice(&device), "asking for the CUDA device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "asking for multiprocessors");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
        "taking shared memory for a kernel");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), "asking for a kernel's occupancy");
  if (blocks < 1) throw Error(Errc::device, "a kernel of experts does not fit on a multiprocessor of this device");
  return multiprocessors;
}

// Launches a prepared kernel; it may begin while the one before it ends, and waits for that by wait_for_previous_kernel().
template <class Args>
void launch_cooperative(void (*kernel)(Args), int blocks, int threads, std::size_t shared_bytes, cudaStream_t stream,
                        const Args& args) noexcept {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, args);
  CONCLAVE_CHECK(status == cudaSuccess, cudaGetErrorString(status));
}

}  // namespace conclave::cuda
