#pragma once
// IEEE binary16, reading only: some checkpoints store scales or weights in it.
#include <bit>
#include <cstdint>

namespace conclave {

struct f16 {
  std::uint16_t bits = 0;

  constexpr float to_float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {  // zero and subnormals: fraction * 2^-24, exact in float32
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t rebased = exponent == 31 ? 255u : exponent + 112u;
    return std::bit_cast<float>(sign | (rebased << 23) | (fraction << 13));
  }
};

}  // namespace conclave
