#pragma once
// E2M1, the 4-bit float of NVFP4 and MXFP4: 0, .5, 1, 1.5, 2, 3, 4, 6 and their negatives; no infinity, no NaN.
// Two codes share a byte, the even element in the low nibble.
#include <cstdint>

namespace conclave {

struct e2m1 {
  std::uint8_t code = 0;  // the low four bits
  static constexpr float kMax = 6.0f;

  constexpr float to_float() const {
    constexpr float kMagnitude[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    return (code & 8) != 0 ? -kMagnitude[code & 7] : kMagnitude[code & 7];
  }

  // Nearest, ties to the even code, saturating at 6; the sign bit is set iff value < 0. NaN becomes 6.
  static constexpr e2m1 from_float(float value) {
    const float a = value < 0 ? -value : value;
    const int m = a <= 0.25f   ? 0
                  : a < 0.75f  ? 1
                  : a <= 1.25f ? 2
                  : a < 1.75f  ? 3
                  : a <= 2.5f  ? 4
                  : a < 3.5f   ? 5
                  : a <= 5.0f  ? 6
                               : 7;
    return {static_cast<std::uint8_t>(value < 0 ? m | 8 : m)};
  }
};

}  // namespace conclave
