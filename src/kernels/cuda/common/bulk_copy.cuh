#pragma once
// Copies from global to shared memory that nobody waits for meanwhile (PTX ISA, cp.async.bulk and cp.async).
#include "kernels/cuda/common/mbarrier.cuh"

namespace conclave::cuda {

// One thread asks the copy engine. Both addresses and `bytes` are multiples of 16; completion is counted on `barrier`, which
// expects the bytes.
__device__ __forceinline__ void bulk_copy(void* shared, const void* global, std::uint32_t bytes, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// Four bytes, by this thread.
__device__ __forceinline__ void async_copy(float* shared, const float* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
// Of this thread.
__device__ __forceinline__ void wait_for_async_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace conclave::cuda
