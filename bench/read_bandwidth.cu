// How fast this device's memory can be read by bulk copies: one block on every multiprocessor, a ring of chunks, nothing done with
// them.
#include "bench/read_bandwidth.h"
#include "device/cuda/stream_cuda.h"
#include "kernels/cuda/common/bulk_copy.cuh"

namespace conclave::bench {
namespace {

constexpr int kChunk = 8192, kSlots = 24;

__global__ void __launch_bounds__(32) read_all(const std::byte* data, std::int64_t chunks) {
  extern __shared__ __align__(128) char slots[];
  __shared__ std::uint64_t full[kSlots];
  if (threadIdx.x != 0) return;
  for (int i = 0; i < kSlots; ++i) cuda::mbarrier_init(full + i, 1);
  cuda::mbarrier_init_fence();
  const auto ask = [&](std::int64_t chunk, int slot) {
    if (chunk >= chunks) return;
    cuda::mbarrier_expect(full + slot, kChunk);
    cuda::bulk_copy(slots + slot * kChunk, data + chunk * kChunk, kChunk, full + slot);
  };
  for (int i = 0; i < kSlots; ++i) ask(blockIdx.x + static_cast<std::int64_t>(i) * gridDim.x, i);
  int slot = 0;
  std::uint32_t parity = 0;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    cuda::mbarrier_wait(full + slot, parity);
    ask(chunk + static_cast<std::int64_t>(kSlots) * gridDim.x, slot);
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
}

}  // namespace

void launch_read(const std::byte* data, std::int64_t bytes, int blocks, Stream& stream) {
  cudaFuncSetAttribute(read_all, cudaFuncAttributeMaxDynamicSharedMemorySize, kChunk * kSlots);
  read_all<<<static_cast<unsigned>(blocks), 32, kChunk * kSlots, static_cast<CudaStream&>(stream).handle()>>>(data, bytes / kChunk);
}

}  // namespace conclave::bench
