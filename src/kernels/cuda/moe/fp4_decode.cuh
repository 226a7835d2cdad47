#pragma once
// 4-bit codes and their scales to bf16 registers of the tensor cores. The layout is fp4_units.h.
#include "kernels/cuda/common/mma_bf16.cuh"
#include "kernels/cuda/moe/fp4_units.h"

namespace conclave::cuda {

// Eight codes to four A registers, each value * 2^-126.
__device__ __forceinline__ void decode_codes(std::uint32_t word, std::uint32_t (&a)[4]) {
  constexpr std::uint32_t kAll = 0x81c081c0u;
  a[0] = (word << 2) & kAll;
  a[1] = (word << 6) & kAll;
  a[2] = __funnelshift_r(word, word, 4) & kAll;
  a[3] = (word & 0x81808180u) | ((word >> 8) & 0x00400040u);
}

// Byte `index` of a word in both halves.
template <int index>
__device__ __forceinline__ std::uint32_t byte_twice(std::uint32_t word) {
  return __byte_perm(word, 0, 0x4040 | index | index << 8);
}

// The scales of a lane for one unit; of(tile, half, step): bf16 pair for row g + 8 * half.
struct Nvfp4Scales {
  using Units = Nvfp4Units;
  std::uint32_t pair[kUnitTiles][4];

  __device__ __forceinline__ void load(const char* scales, int lane) {
#pragma unroll
    for (int tile = 0; tile < kUnitTiles; ++tile) {
      const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(scales + (tile * 32 + lane) * 4);
      pair[tile][0] = widened(byte_twice<0>(word));
      pair[tile][1] = widened(byte_twice<1>(word));
      pair[tile][2] = widened(byte_twice<2>(word));
      pair[tile][3] = widened(byte_twice<3>(word));
    }
  }
  __device__ __forceinline__ std::uint32_t of(int tile, int half, int step) const { return pair[tile][half * 2 + step / 4]; }

 private:
  // Stored exponent e + 10 becomes the bf16 exponent 224 + e + 10, that is 2^(e + 107).
  static __device__ __forceinline__ std::uint32_t widened(std::uint32_t bytes) { return bytes * 16u + 0x70007000u; }
};

struct Mxfp4Scales {
  using Units = Mxfp4Units;
  std::uint32_t pair[kUnitTiles][2];

  __device__ __forceinline__ void load(const char* scales, int lane) {
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(scales + lane * 4);
    pair[0][0] = byte_twice<0>(word) << 7;
    pair[0][1] = byte_twice<1>(word) << 7;
    pair[1][0] = byte_twice<2>(word) << 7;
    pair[1][1] = byte_twice<3>(word) << 7;
  }
  __device__ __forceinline__ std::uint32_t of(int tile, int half, int) const { return pair[tile][half]; }
};

}  // namespace conclave::cuda
