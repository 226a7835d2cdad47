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
__device__ __forceinline__ void add_release(std::uint32_t* p, std::uint32_t value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

// A barrier of all blocks, which are resident at once (a cooperative launch). What any thread wrote before is visible to all after.
class GridBarrier {
 public:
  // `counter` starts a kernel at a multiple of the number of blocks, and so it ends. To be made before this block's first wait():
  // the counter cannot have passed the next multiple by then.
  __device__ __forceinline__ explicit GridBarrier(std::uint32_t* counter) : counter_(counter) {
    if (threadIdx.x == 0) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen_) : "l"(counter) : "memory");
  }
  // By every thread.
  __device__ __forceinline__ void wait() {
    __syncthreads();
    if (threadIdx.x == 0) {
      add_release(counter_, 1);
      seen_ = (seen_ / gridDim.x + 1) * gridDim.x;
      while (static_cast<std::int32_t>(load_acquire(counter_) - seen_) < 0) {
      }
    }
    __syncthreads();
  }

 private:
  std::uint32_t* counter_;
  std::uint32_t seen_ = 0;  // of the counter; not used before wait(), so that nothing waits for the load
};

}  // namespace conclave::cuda
