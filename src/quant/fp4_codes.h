#pragma once
// Two E2M1 codes in a byte along K, the even element in the low nibble: the storage that NVFP4 and MXFP4 share.
#include <cstdint>

#include "base/fp4.h"
#include "quant/elements.h"

namespace conclave {

// Root mean square of the sixteen codes.
inline constexpr float kE2m1Rms = 2.926f;

// Value of code (row, k) of codes u8 [rows, cols / 2].
inline float load_e2m1(const ConstTensorView& codes, std::int64_t row, std::int64_t k) {
  const auto byte = load<std::uint8_t>(codes.data, offset_of(codes, row, k / 2));
  return e2m1{static_cast<std::uint8_t>(k % 2 == 0 ? byte & 15 : byte >> 4)}.to_float();
}

inline std::uint8_t pack_e2m1(e2m1 even, e2m1 odd) { return static_cast<std::uint8_t>(even.code | (odd.code << 4)); }

}  // namespace conclave
