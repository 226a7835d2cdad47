#include "tests/kernels/gemm_case.h"

#include <cmath>
#include <limits>

namespace conclave::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t code_bytes(GemmFormat format, std::int64_t cols) {
  switch (format) {
    case kGemmF32: return cols * 4;
    case kGemmBf16: return cols * 2;
    case kGemmFp8: return cols;
    default: return cols / 2;
  }
}

Shape with_fixed_blocks(Shape s) {
  if (s.format == kGemmNvfp4) s.scale_rows = 1, s.scale_cols = 16;
  if (s.format == kGemmMxfp4) s.scale_rows = 1, s.scale_cols = 32;
  return s;
}

std::int64_t bytes_per_scale(GemmFormat format) {
  switch (format) {
    case kGemmFp8:
    case kGemmInt4: return 4;
    case kGemmNvfp4:
    case kGemmMxfp4: return 1;
    default: return 0;
  }
}

template <class T>
T at(const std::uint8_t* bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

double e4m3_exact(std::uint8_t code) {
  const int exponent = (code >> 3) & 15, fraction = code & 7;
  if (exponent == 15 && fraction == 7) return kNan;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(1.0 + fraction / 8.0, exponent - 7);
  return (code >> 7) != 0 ? -magnitude : magnitude;
}

double e8m0_exact(std::uint8_t code) { return code == 255 ? kNan : std::ldexp(1.0, code - 127); }

double e2m1_exact(int code) {
  const int exponent = (code >> 1) & 3, fraction = code & 1;
  const double magnitude = exponent == 0 ? fraction * 0.5 : std::ldexp(1.0 + fraction * 0.5, exponent - 1);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

double bf16_exact(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  return static_cast<double>(at<float>(reinterpret_cast<const std::uint8_t*>(&wide), 0));
}

const char* format_name(GemmFormat format) {
  constexpr const char* kNames[] = {"f32", "bf16", "fp8", "nvfp4", "mxfp4", "int4"};
  return kNames[format];
}

std::int64_t column_step(GemmFormat format) {
  constexpr std::int64_t kSteps[] = {1, 1, 1, 16, 32, 2};
  return kSteps[format];
}

GemmCase::GemmCase(const Shape& s)
    : shape(with_fixed_blocks(s)),
      row_bytes(code_bytes(shape.format, shape.cols)),
      blocks(ceil_div(shape.cols, shape.scale_cols)),
      scale_bytes(bytes_per_scale(shape.format)),
      codes(static_cast<std::size_t>((row_bytes + shape.code_padding) * (shape.rows - 1) + row_bytes)),
      scales(static_cast<std::size_t>(ceil_div(shape.rows, shape.scale_rows) * blocks * scale_bytes)),
      zeros(shape.format == kGemmInt4 ? scales.size() : 0) {}

GemmCase GemmCase::random(const Shape& s, Random& random) {
  GemmCase c(s);
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::uniform_real_distribution<float> scale(0.001f, 1.0f);
  for (auto& byte : c.codes) byte = static_cast<std::uint8_t>(random());
  const std::int64_t stride = c.row_bytes + c.shape.code_padding;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t k = 0; k < s.cols; ++k) {
      std::uint8_t* row = c.codes.data() + r * stride;
      const float value = normal(random);
      if (s.format == kGemmF32) std::memcpy(row + k * 4, &value, 4);
      if (s.format == kGemmBf16) std::memcpy(row + k * 2, reinterpret_cast<const std::uint8_t*>(&value) + 2, 2);
      if (s.format == kGemmFp8 && (row[k] & 0x7f) == 0x7f) row[k] = 0x7e;
    }
  }
  for (std::size_t i = 0; i < c.scales.size() / 4 && c.scale_bytes == 4; ++i) {
    const float value = scale(random), zero = static_cast<float>(random() % 16);
    std::memcpy(c.scales.data() + i * 4, &value, 4);
    if (c.zeros.size() != 0) std::memcpy(c.zeros.data() + i * 4, &zero, 4);
  }
  if (s.format == kGemmNvfp4) {
    for (auto& byte : c.scales) byte = static_cast<std::uint8_t>(random() % 0x7f);
  }
  if (s.format == kGemmMxfp4) {
    for (auto& byte : c.scales) byte = static_cast<std::uint8_t>(117 + random() % 12);
  }
  if (s.format == kGemmNvfp4) c.global = 0.37f;
  return c;
}

KernelMatrix GemmCase::matrix() const {
  KernelMatrix m{};
  m.codes = codes.data();
  m.scales = scale_bytes != 0 ? scales.data() : nullptr;
  m.zeros = zeros.size() != 0 ? zeros.data() : nullptr;
  m.code_stride = row_bytes + shape.code_padding;
  m.scale_stride = blocks * scale_bytes;
  m.rows = shape.rows;
  m.cols = shape.cols;
  m.scale_rows = shape.scale_rows;
  m.scale_cols = shape.scale_cols;
  m.global = global;
  return m;
}

double GemmCase::value(std::int64_t row, std::int64_t col) const {
  const std::uint8_t* bytes = codes.data() + row * (row_bytes + shape.code_padding);
  const std::int64_t block = row / shape.scale_rows * blocks + col / shape.scale_cols;
  const auto nibble = [&] { return (bytes[col / 2] >> (col % 2 * 4)) & 15; };
  double v = 0;
  switch (shape.format) {
    case kGemmF32: v = static_cast<double>(at<float>(bytes, col)); break;
    case kGemmBf16: v = bf16_exact(at<std::uint16_t>(bytes, col)); break;
    case kGemmFp8: v = e4m3_exact(bytes[col]) * static_cast<double>(at<float>(scales.data(), block)); break;
    case kGemmNvfp4: v = e2m1_exact(nibble()) * e4m3_exact(scales.data()[block]); break;
    case kGemmMxfp4: v = e2m1_exact(nibble()) * e8m0_exact(scales.data()[block]); break;
    default:
      v = (nibble() - static_cast<double>(at<float>(zeros.data(), block))) * static_cast<double>(at<float>(scales.data(), block));
  }
  return v * static_cast<double>(global);
}

Expected expected(const GemmCase& c, const float* x, std::int64_t x_stride, const std::int32_t* x_rows, std::int64_t tokens) {
  Expected e;
  std::vector<double> row(static_cast<std::size_t>(c.shape.cols));
  e.out.resize(static_cast<std::size_t>(tokens * c.shape.rows));
  e.magnitude.resize(e.out.size());
  for (std::int64_t r = 0; r < c.shape.rows; ++r) {
    for (std::int64_t k = 0; k < c.shape.cols; ++k) row[static_cast<std::size_t>(k)] = c.value(r, k);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const float* xt = x + (x_rows ? x_rows[t] : t) * x_stride;
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < c.shape.cols; ++k) {
        const double product = row[static_cast<std::size_t>(k)] * static_cast<double>(xt[k]);
        sum += product;
        magnitude += std::abs(product);
      }
      e.out[static_cast<std::size_t>(t * c.shape.rows + r)] = sum;
      e.magnitude[static_cast<std::size_t>(t * c.shape.rows + r)] = magnitude;
    }
  }
  return e;
}

}  // namespace conclave::test
