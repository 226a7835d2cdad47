#include "quant/encoding.h"

#include <fmt/format.h>

#include <cmath>

#include "conclave/error.h"
#include "quant/scales.h"

namespace conclave {

OwnedMatrix begin_encoding(std::span<const float> values, std::int64_t rows, std::int64_t cols, std::int64_t multiple,
                           const QuantScheme& scheme) {
  CONCLAVE_CHECK(rows > 0 && cols > 0 && static_cast<std::int64_t>(values.size()) == rows * cols,
                 fmt::format("{} values for [{}, {}]", values.size(), rows, cols));
  if (cols % multiple != 0) {
    throw Error(Errc::bad_input,
                fmt::format("{} needs rows of a multiple of {} values, found {}; keep this matrix in another format",
                            to_string(scheme), multiple, cols));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const auto at = static_cast<std::int64_t>(i);
    throw Error(Errc::bad_input, fmt::format("the matrix holds {} at [{}, {}]; only finite values can be quantised", values[i],
                                             at / cols, at % cols));
  }
  OwnedMatrix out;
  out.matrix.scheme = scheme;
  out.matrix.rows = rows;
  out.matrix.cols = cols;
  return out;
}

TensorView new_tensor(OwnedMatrix& owner, ConstTensorView QuantMatrix::*member, DType dtype, Shape shape) {
  owner.buffers.push_back(allocate_host(static_cast<std::size_t>(shape.elements()) * static_cast<std::size_t>(size_of(dtype))));
  const TensorView tensor(owner.buffers.back().data(), dtype, shape);
  owner.matrix.*member = tensor;
  return tensor;
}

float largest_magnitude(std::span<const float> values) {
  float largest = 0.0f;
  for (float v : values) largest = std::fabs(v) > largest ? std::fabs(v) : largest;
  return largest;
}

float store_scale(const TensorView& scales, std::int64_t index, float value) {
  switch (scales.dtype) {
    case DType::f32: return scales.as<float>()[index] = value;
    case DType::bf16: return (scales.as<bf16>()[index] = bf16::from_float(value)).to_float();
    case DType::f8e8m0: return (scales.as<f8e8m0>()[index] = f8e8m0{e8m0_at_least(value)}).to_float();
    default: break;
  }
  throw Error(Errc::unsupported, fmt::format("scales are written as f32, bf16 or f8e8m0, not as {}", to_string(scales.dtype)));
}

}  // namespace conclave
