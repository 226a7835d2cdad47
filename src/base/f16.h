#pragma once
// IEEE binary16, reading only: some checkpoints store scales or weights in it.
#include <bit>
#include <cstdint>

namespace conclave {

struct f16 {
  std::uint16_t bits = 0;

  constexpr float to_float() const {
    // With the fraction and exponent moved to their places a multiplication mends the bias of the exponent, exactly and for
    // subnormals too. No branch, so that loops over it are vectorised.
    const std::uint32_t magnitude = bits & 0x7fffu;
    const std::uint32_t rebased = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    const std::uint32_t not_finite = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return std::bit_cast<float>((bits & 0x8000u) << 16 | rebased | not_finite);
  }
};

}  // namespace conclave
