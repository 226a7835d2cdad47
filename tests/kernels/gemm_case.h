#pragma once
// Weight matrices in the kernels' formats beside their exact values, decoded here from the formats' definitions in double.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/table.h"
#include "tests/kernels/guarded.h"

namespace conclave::test {

using Random = std::mt19937;

double e4m3_exact(std::uint8_t code);  // NaN for 0x7f and 0xff
double e8m0_exact(std::uint8_t code);  // NaN for 255
double e2m1_exact(int code);           // 0..15
double bf16_exact(std::uint16_t bits);

const char* format_name(GemmFormat);
std::int64_t column_step(GemmFormat);  // cols must be a multiple of it

struct Shape {
  GemmFormat format;
  std::int64_t rows, cols;
  std::int32_t scale_rows = 1, scale_cols = 1;  // fp8 and int4; the other formats fix them
  std::int64_t code_padding = 0;                // bytes between rows
};

// Bytes of codes, scales and zeros end at a guard page. Start from `bytes of zeros`, fill, then ask for values.
class GemmCase {
 public:
  explicit GemmCase(const Shape&);
  // Finite weights of about unit size. fp8: every finite code is likely.
  static GemmCase random(const Shape&, Random&);

  KernelMatrix matrix() const;
  double value(std::int64_t row, std::int64_t col) const;  // with global

  Shape shape;
  float global = 1.0f;
  std::int64_t row_bytes, blocks, scale_bytes;  // codes of a row; blocks in a row; bytes of one scale
  Guarded<std::uint8_t> codes, scales, zeros;
};

// out[t * rows + r], tokens x rows, by a plain float64 sum, and the sum of the products' magnitudes (what errors are measured by).
struct Expected {
  std::vector<double> out, magnitude;
};
Expected expected(const GemmCase&, const float* x, std::int64_t x_stride, const std::int32_t* x_rows, std::int64_t tokens);

}  // namespace conclave::test
