#pragma once
// Small integer arithmetic that every room needs, checked where the numbers come from a file.
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace conclave {

template <std::integral T>
constexpr T ceil_div(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

template <std::integral T>
constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}

// a * b, or nothing when it does not fit. Both must not be negative.
constexpr std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0) return std::nullopt;
  if (b != 0 && a > std::numeric_limits<std::int64_t>::max() / b) return std::nullopt;
  return a * b;
}

}  // namespace conclave
