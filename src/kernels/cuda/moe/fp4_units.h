#pragma once
// How 4-bit expert weights lie on the device, for the writer (pack_fp4.cpp) and the reader (fp4_decode.cuh).
//
// A matrix pair is cut into units of two tiles, 16 rows x 128 columns each: gate and up of the same rows, or two neighbouring tiles
// of one matrix. Units follow one another along the columns, then pairs of tiles, then experts. Rows and columns off the end are
// zeros.
//
// Lane l of a warp, g = l / 4, t = l % 4, owns rows g and g + 8 at columns [32 t, 32 t + 32) of a tile. Its codes for step k of 8
// (four columns, 32 t + 4 k) are one word, whose eight codes become the four A registers of a tensor core product:
//   register 0: row g, columns 0 1;  1: row g + 8, columns 0 1;  2: row g, columns 2 3;  3: row g + 8, columns 2 3.
// Codes:  word (tile, k, l) at ((tile * 2 + k / 4) * 32 + l) * 16 + (k % 4) * 4.
// Scales: behind the codes, see Nvfp4Units and Mxfp4Units.
#include <cstdint>

namespace conclave::cuda {

inline constexpr int kUnitTiles = 2, kTileRows = 16, kUnitCols = 128;
inline constexpr int kUnitSteps = 8;  // of four columns for every lane
inline constexpr int kUnitCodeBytes = kUnitTiles * kTileRows * kUnitCols / 2;

// Bit `bit` (15: sign, 8 7 6: magnitude of E2M1, where bf16 has its sign, two low bits of the exponent and the highest of the
// fraction) of half `half` of register r lies at this bit of the word. The sources of all registers tile the 16 bits of a half, so
// that two shifts, one rotation, and one more shift for a single bit bring all to their places: nine instructions for eight codes.
constexpr int code_bit(int r, int half, int bit) {
  const int target = 16 * half + bit;
  const int distance = r == 0 ? -2 : r == 1 ? -6 : r == 2 ? 4 : bit == 6 ? 8 : 0;
  return (target + distance + 32) % 32;
}

// In registers a code is value * 2^-126 and a block's scale is scale * 2^107, so a weight is value * scale * 2^-19, exactly.
inline constexpr float kWeightUnscale = 0x1p19f;

// NVFP4: E4M3 scales of 16 columns without their signs, which the codes take, as five bits of exponent + 10 and three of fraction,
// so that none is subnormal. The word of lane l: rows g (columns 0-15, 16-31 of the lane), g + 8 (the same), from the lowest byte.
struct Nvfp4Units {
  static constexpr int kScaleCols = 16;
  static constexpr int kScaleBytes = kUnitTiles * 32 * 4;
  static constexpr int kBytes = kUnitCodeBytes + kScaleBytes;
  static constexpr int kExponentBias = 10;  // of the stored five bits
};

// MXFP4: the bf16 exponent of the scale * 2^107 relative to the matrix's largest. The word of lane l: tile 0 rows g, g + 8, tile 1
// rows g, g + 8.
struct Mxfp4Units {
  static constexpr int kScaleCols = 32;
  static constexpr int kScaleBytes = 32 * 4;
  static constexpr int kBytes = kUnitCodeBytes + kScaleBytes;
  static constexpr int kLargestExponent = 234;  // where the matrix's largest scale is put
};

}  // namespace conclave::cuda
