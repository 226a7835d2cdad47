#pragma once
// What the encoders share: making the matrix they fill, and refusing values that no format can hold.
#include <cstdint>
#include <span>

#include "quant/matrix.h"

namespace conclave {

// A matrix with that scheme and those extents and no tensors yet, after a check of what encode() was given: rows * cols values, all
// finite, cols a multiple of `multiple`. Throws Error{bad_input}.
OwnedMatrix begin_encoding(std::span<const float> values, std::int64_t rows, std::int64_t cols, std::int64_t multiple,
                           const QuantScheme& scheme);

// Makes one tensor of the matrix, contiguous and to be written by the caller; `owner` keeps its memory.
TensorView new_tensor(OwnedMatrix& owner, ConstTensorView QuantMatrix::*member, DType dtype, Shape shape);

// The largest magnitude; 0 of nothing. NaN is passed over.
float largest_magnitude(std::span<const float> values);

// Writes `value` as element `index`, rounded to `dtype` (f32, bf16 or f8e8m0, which must then be a power of two), and returns what
// was written.
float store_scale(const TensorView& scales, std::int64_t index, float value);

}  // namespace conclave
