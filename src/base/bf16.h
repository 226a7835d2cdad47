#pragma once
// bfloat16: the upper half of a float32. Rounding is to nearest, ties to even; NaN stays NaN.
#include <bit>
#include <cstdint>

namespace conclave {

struct bf16 {
  std::uint16_t bits = 0;

  static constexpr bf16 from_float(float value) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((u >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
  }
  constexpr float to_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  constexpr bool operator==(const bf16&) const = default;  // of bits: NaN equals itself, -0 differs from 0
};

// A float rounded to the precision of bf16.
constexpr float round_to_bf16(float value) { return bf16::from_float(value).to_float(); }

}  // namespace conclave
