#pragma once
// What blocks of a grid, and kernels in a queue, tell one another.
#include <cstdint>

namespace conclave::cuda {

// Programmatic dependent launch: the kernel before this one is complete and its writes are visible.
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// The next kernel may begin to take places; what it reads it waits for by the function above.
__device__ __forceinline__ void let_next_kernel_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__device__ __forceinline__ std::uint32_t load_acquire(const std::uint32_t* p) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
__device__ __forceinline__ std::uint32_t add_acq_rel(std::uint32_t* p, std::uint32_t value) {
  std::uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(value) : "memory");
  return before;
}

// Every thread of every block calls it; all blocks are resident (a cooperative launch). What any wrote before is visible to all
// after. `counter` starts at a multiple of the number of blocks and ends at the next.
__device__ __forceinline__ void grid_barrier(std::uint32_t* counter) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const std::uint32_t blocks = gridDim.x, target = (add_acq_rel(counter, 1) / blocks + 1) * blocks;
    while (static_cast<std::int32_t>(load_acquire(counter) - target) < 0) {
    }
  }
  __syncthreads();
}

}  // namespace conclave::cuda
