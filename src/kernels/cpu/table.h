#pragma once
// The CPU kernels as tables of function pointers, one table per instruction set, joined here. Plain old data in and out: the
// translation units under scalar/, avx2/ and avx512/ include this file, C headers and <immintrin.h> only, so that no inline
// library code compiled for a newer processor can leak into the rest of the program (tools/check_isa_objects.sh).
//
// All functions are noexcept, allocate nothing and read nothing outside the stated ranges. Activations are float32.
#include <stdint.h>

// Weights [rows, cols] repacked so that rows are contiguous bytes. Rows are `code_stride` bytes apart.
//   f32, bf16: cols values of that type.          f8e4m3: cols bytes.
//   nvfp4, mxfp4: cols / 2 bytes, even column in the low nibble (E2M1).
//   int4: cols / 2 bytes, even column in the low nibble, unsigned 0..15.
// Scales: one per block of scale_rows x scale_cols, row-major, scale rows `scale_stride` bytes apart, a last block may be short.
//   f8e4m3: float32.  nvfp4: E4M3 byte, scale_cols 16.  mxfp4: E8M0 byte, scale_cols 32.  int4: float32.  f32, bf16: none.
// zeros: int4 only, float32 zero points (0..15, 8 when symmetric) laid out exactly like the scales.
// value = (code - zero) * scale * global.
struct KernelMatrix {
  const uint8_t* codes;
  const uint8_t* scales;
  const uint8_t* zeros;
  int64_t code_stride;
  int64_t scale_stride;
  int64_t rows;
  int64_t cols;
  int32_t scale_rows;
  int32_t scale_cols;
  float global;
};

// out[t * out_stride + r] = sum_k value(r, k) * x[t'][k] for r in [row_begin, row_end) and t in [0, tokens), where
// t' = x_rows ? x_rows[t] : t and x rows are x_stride floats apart. Float32 sums.
struct GemmArgs {
  struct KernelMatrix w;
  const float* x;
  int64_t x_stride;
  const int32_t* x_rows;
  int64_t tokens;
  float* out;
  int64_t out_stride;
  int64_t row_begin;
  int64_t row_end;
};

// noexcept is part of the type in C++17 and newer.
using GemmKernel = void (*)(const GemmArgs*) noexcept;

// 16 activations as 16-bit integers q: x[k] = scale * q[k], within half of scale, which is the largest magnitude of the block /
// 32512. They stand here twice, as one kind of instruction wants bytes and the other pairs: q[k] = 256 * high[k] + low[k] in the
// order of columns, and q in the order 0 2 1 3, 4 6 5 7, ... Where one is infinite or NaN, scale is NaN and so is every result.
// sum: of the integers.
struct IntBlock {
  int8_t high[16];
  int8_t low[16];
  int16_t pairs[16];
  float scale;
  int32_t sum;
};

// A matrix of 4-bit codes [rows, cols] in tiles of 16 rows, so that a vector's lanes are rows and no sum crosses lanes. A tile is
// its column blocks of 16, 128 bytes each: 64 for its first 8 rows, 64 for the others. Byte 4 * row + j of the 64 has column j in
// the low nibble and column 4 + j in the high one; byte 32 + 4 * row + j has columns 8 + j and 12 + j. Rows and columns beyond the
// matrix are code 0.
//   nvfp4: scales E4M3 bytes >= 0 [tile][block][16 rows].   mxfp4: E8M0 bytes [tile][block / 2][16].
//   int4: float32 [tile][column / scale_cols][16]; zeros: the zero points 0..15, bytes laid out alike, or null where all are 8.
struct TileMatrix {
  const uint8_t* codes;
  const uint8_t* scales;
  const uint8_t* zeros;
  int64_t rows;
  int64_t cols;
  int64_t blocks;        // ceil(cols / 16)
  int64_t scale_groups;  // scales of a row
  int32_t scale_blocks;  // blocks that share a scale
  float global;
};

// out[t * out_stride + r] = sum_k value(r, k) * x[t'][k] for r in [row_begin, row_end), row_begin a multiple of 16, and t as in
// GemmArgs; x rows are x_stride blocks apart. Sums of a block are exact integers; blocks are added in float32.
struct TileArgs {
  struct TileMatrix w;
  const struct IntBlock* x;
  int64_t x_stride;
  const int32_t* x_rows;
  int64_t tokens;
  float* out;
  int64_t out_stride;
  int64_t row_begin;
  int64_t row_end;
};
using TileKernel = void (*)(const TileArgs*) noexcept;

enum GemmFormat { kGemmF32, kGemmBf16, kGemmFp8, kGemmNvfp4, kGemmMxfp4, kGemmInt4, kGemmFormats };
enum TileFormat { kTileNvfp4, kTileMxfp4, kTileInt4, kTileFormats };

struct KernelTable {
  const char* isa;  // "scalar", "avx2", "avx512"
  GemmKernel gemm[kGemmFormats];
  TileKernel tile[kTileFormats];
  // The result for one row does not depend on the number of tokens or on the other rows (batch invariance); the suite checks it.

  void (*to_int_blocks)(const float* x, int64_t n, struct IntBlock* out) noexcept;  // ceil(n / 16) blocks, the last filled with 0

  float (*dot)(const float* a, const float* b, int64_t n) noexcept;
  float (*dot_bf16)(const float* a, const uint16_t* b, int64_t n) noexcept;
  void (*axpy)(float* y, float a, const float* x, int64_t n) noexcept;          // y += a * x
  void (*axpy_bf16)(float* y, float a, const uint16_t* x, int64_t n) noexcept;  // y += a * x
  void (*to_bf16)(const float* x, uint16_t* out, int64_t n) noexcept;           // nearest, ties to even
  void (*rms_norm)(const float* x, const float* weight /* or null */, float eps, float* out, int64_t n) noexcept;
  void (*silu_mul)(const float* gate, const float* up, float* out, int64_t n) noexcept;  // out may be up or gate
  // x becomes exp(x - max) and its sum is returned, *max the largest; n >= 1. What equals max becomes 1, be it infinite (all -inf:
  // all 1), so the sum is at least 1 unless a NaN makes it NaN. Results below 2^-126 may become 0.
  float (*exp_sum)(float* x, int64_t n, float* max) noexcept;
  // state = decay * state + input * b; returns the sum of state * c. One row of a selective scan.
  float (*scan_step)(float* state, float decay, float input, const float* b, const float* c, int64_t n) noexcept;

  // What the set can do at most, for ops/cpu/limit_meter.h to take the time of.
  // Reads n bytes, a multiple of 1024 aligned to 64, as four streams; returns the exclusive or of their 64-bit words.
  uint64_t (*read_streams)(const uint8_t* bytes, int64_t n) noexcept;
  // Float32 multiply-adds x = x * 1 + 1 from 0 on, `rounds` in each of many independent lanes (rounds <= 2^24, so that all stay
  // exact); returns how many in all, which *sum of the lanes must equal.
  int64_t (*multiply_adds)(int64_t rounds, double* sum) noexcept;
  // Sums of products 1 * 1 of 8-bit integers, as 32-bit integers, by the set's widest instruction for them; otherwise alike.
  int64_t (*byte_products)(int64_t rounds, double* sum) noexcept;
};
