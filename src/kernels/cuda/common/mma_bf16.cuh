#pragma once
// Tensor core products of bf16 with float32 sums, and products of pairs of bf16.
#include <cstdint>

namespace conclave::cuda {

// c[16 x 8] += a[16 x 16] * b[16 x 8]. With g = lane / 4 and t = lane % 4 (PTX ISA, mma.m16n8k16):
//   a: rows g, g + 8, g, g + 8 at columns 2t and 2t + 8 (two each); b: column g at rows 2t and 2t + 8 (two each);
//   c: row g at columns 2t, 2t + 1, then row g + 8.
__device__ __forceinline__ void mma_bf16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Subnormal factors count in full, which the decoders of 4-bit codes need.
__device__ __forceinline__ std::uint32_t mul_bf16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  return out;
}

}  // namespace conclave::cuda
