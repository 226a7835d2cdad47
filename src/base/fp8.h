#pragma once
// 8-bit floats: E4M3 ("fn": no infinity, 448 is the largest, 0x7f is NaN), E5M2 (IEEE-like) and E8M0 (a power of two).
// Encoding rounds to nearest, ties to even, and saturates; NaN stays NaN. Spec: OCP 8-bit floating point, OCP MX.
#include <bit>
#include <cstdint>

namespace conclave {

namespace detail {

// One mini-float rule for both: `mantissa` bits, exponent bias `bias`, codes above `max_code` saturate to it.
constexpr std::uint8_t encode_minifloat(float value, int mantissa, int bias, std::uint8_t max_code, std::uint8_t nan_code) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>((u >> 24) & 0x80u);
  const std::uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | nan_code);
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int min_exponent = 1 - bias;  // of the smallest normal; below it the step stays that of the subnormals
  const int step = (exponent < min_exponent ? min_exponent : exponent) - mantissa;
  if (exponent < min_exponent - mantissa - 1) return sign;                // below half of the smallest subnormal
  const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;  // exponent >= -126 here, so it is normal
  const int shift = step - (exponent - 23);                               // 1 <= shift <= 24
  const std::uint32_t half = 1u << (shift - 1);
  std::uint32_t q = significand >> shift;
  const std::uint32_t rest = significand & ((1u << shift) - 1u);
  if (rest > half || (rest == half && (q & 1u))) ++q;
  // q counts steps; for normals it still holds the hidden one, so adding the exponent field carries by itself.
  const std::uint32_t field = exponent < min_exponent ? 0u : static_cast<std::uint32_t>(exponent + bias - 1);
  const std::uint32_t code = (field << mantissa) + q;
  return static_cast<std::uint8_t>(sign | (code > max_code ? max_code : code));
}

constexpr float decode_minifloat(std::uint8_t code, int mantissa, int bias) {
  const int field = (code & 0x7f) >> mantissa;
  const int fraction = code & ((1 << mantissa) - 1);
  const int exponent = (field == 0 ? 1 : field) - bias - mantissa;
  const int significand = field == 0 ? fraction : fraction + (1 << mantissa);
  const float scale = std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  const float value = static_cast<float>(significand) * scale;
  return (code & 0x80) != 0 ? -value : value;
}

}  // namespace detail

struct f8e4m3 {
  std::uint8_t bits = 0;
  static constexpr float kMax = 448.0f;
  static constexpr f8e4m3 from_float(float v) { return {detail::encode_minifloat(v, 3, 7, 0x7e, 0x7f)}; }
  constexpr float to_float() const {
    return (bits & 0x7f) == 0x7f ? std::bit_cast<float>(0x7fc00000u) : detail::decode_minifloat(bits, 3, 7);
  }
};

struct f8e5m2 {
  std::uint8_t bits = 0;
  static constexpr float kMax = 57344.0f;
  static constexpr f8e5m2 from_float(float v) { return {detail::encode_minifloat(v, 2, 15, 0x7b, 0x7e)}; }
  constexpr float to_float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
    if ((bits & 0x7f) == 0x7c) return std::bit_cast<float>(sign | 0x7f800000u);
    if ((bits & 0x7f) > 0x7c) return std::bit_cast<float>(0x7fc00000u);
    return detail::decode_minifloat(bits, 2, 15);
  }
};

struct f8e8m0 {
  std::uint8_t bits = 0;
  constexpr float to_float() const {
    if (bits == 255) return std::bit_cast<float>(0x7fc00000u);
    return bits == 0 ? 0x1p-127f : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 23);
  }
};

}  // namespace conclave
