#pragma once
// One thread asks the copy engine for a run of bytes: global to shared memory (PTX ISA, cp.async.bulk; sm_90).
#include "kernels/cuda/common/mbarrier.cuh"

namespace conclave::cuda {

// Both addresses and `bytes` are multiples of 16; completion is counted on `barrier`, which expects the bytes.
__device__ __forceinline__ void bulk_copy(void* shared, const void* global, std::uint32_t bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(shared)),
               "l"(global), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

}  // namespace conclave::cuda
