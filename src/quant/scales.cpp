#include "quant/scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "quant/elements.h"

namespace conclave {
namespace {

// How many of n codes lie outside [low, low + count). The inner loop has no branch, so that it vectorises.
template <class Bits>
std::int64_t count_outside(const std::byte* data, std::int64_t n, std::int64_t stride, Bits low, Bits count) {
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < n; ++i) bad += static_cast<Bits>(load<Bits>(data, i * stride) - low) >= count ? 1 : 0;
  return bad;
}

// The allowed values of each type, seen as unsigned integers, are one range.
std::int64_t count_bad(const std::byte* data, DType dtype, std::int64_t n, std::int64_t stride) {
  switch (dtype) {
    case DType::f32: return count_outside<std::uint32_t>(data, n, stride, 0x00800000u, 0x7f000000u);
    case DType::bf16: return count_outside<std::uint16_t>(data, n, stride, 0x0080u, 0x7f00u);
    case DType::f16: return count_outside<std::uint16_t>(data, n, stride, 0x0001u, 0x7bffu);
    case DType::f8e4m3: return count_outside<std::uint8_t>(data, n, stride, 0x00u, 0x7fu);
    case DType::f8e8m0: return count_outside<std::uint8_t>(data, n, stride, 0x00u, 0xffu);
    default: break;
  }
  check_failed("a type of scales", __FILE__, __LINE__, std::string(to_string(dtype)));
}

}  // namespace

bool usable_scale(float value) { return std::bit_cast<std::uint32_t>(value) - 0x00800000u < 0x7f000000u; }

std::string describe_bad_scales(const ConstTensorView& scales) {
  const int rank = scales.shape.rank();
  const std::int64_t cols = rank == 2 ? scales.shape[1] : 1;
  const std::int64_t rows = rank == 0 ? 1 : scales.shape[0];
  const std::int64_t row_stride = rank == 0 ? 0 : scales.stride[0];
  const std::int64_t col_stride = rank == 2 ? scales.stride[1] : 1;
  CONCLAVE_CHECK(rank <= 2, to_string(scales.shape));
  const int size = size_of(scales.dtype);
  std::int64_t bad = 0;
  std::string first;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::byte* row = scales.data + r * row_stride * size;
    const std::int64_t bad_here = count_bad(row, scales.dtype, cols, col_stride);
    if (bad == 0 && bad_here != 0) {
      std::int64_t c = 0;
      while (count_bad(row + c * col_stride * size, scales.dtype, 1, 1) == 0) ++c;
      first = fmt::format("{} at [{}, {}]", load_float(scales, r * row_stride + c * col_stride), r, c);
    }
    bad += bad_here;
  }
  if (bad == 0) return {};
  const char* allowed = scales.dtype == DType::f8e4m3   ? "neither negative nor NaN"
                        : scales.dtype == DType::f8e8m0 ? "a power of two"
                                                        : "finite, above 0 and not subnormal";
  return fmt::format("{} of its {} scales must be {} and are not; the first is {}", bad, rows * cols, allowed, first);
}

std::string describe_bad_scales(const QuantMatrix& matrix) {
  const std::string bad = matrix.scales ? describe_bad_scales(matrix.scales) : std::string();
  return bad.empty() ? bad : fmt::format("'{}' holds bad scales: {}", matrix.scales_name, bad);
}

float unit_gain_scale(std::int64_t cols, float code_rms) { return 1.0f / (code_rms * std::sqrt(static_cast<float>(cols))); }

std::uint8_t e8m0_at_least(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = (bits >> 23) + ((bits & 0x7fffffu) != 0 ? 1u : 0u);
  return static_cast<std::uint8_t>(std::min(exponent, 254u));
}

std::uint8_t mx_scale(float amax, int element_exponent) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(amax) & 0x7fffffffu;
  const int exponent = static_cast<int>((bits + 0x200000u) >> 23);
  return static_cast<std::uint8_t>(std::clamp(exponent - element_exponent, 0, 254));
}

}  // namespace conclave
