#pragma once
// One weight matrix [rows, cols] = [out, in] as its checkpoint stores it: views, no copies.
#include <cstdint>
#include <string>
#include <vector>

#include "device/buffer.h"
#include "quant/scheme.h"
#include "tensor/view.h"

namespace conclave {

// Views may be strided: a slice of a stacked, interleaved or transposed tensor is a matrix like any other.
struct QuantMatrix {
  QuantScheme scheme;
  std::int64_t rows = 0, cols = 0;
  // f32/f16/bf16/f8e4m3: [rows, cols] of that type; e2m1: u8 [rows, cols / 2]; int4: i32 [rows, ceil(cols / 8)].
  ConstTensorView codes;
  // [ceil(rows / scale_rows), ceil(cols / scale_cols)], the 0 of a scheme meaning one; empty when not scaled.
  ConstTensorView scales;
  // int4 with zero points: i32 [ceil(rows / 8), groups], packed along rows.
  ConstTensorView zeros;
  float global = 1.0f;           // multiplies every value (NVFP4: weight_scale_2, or 1 / weight_global_scale)
  float input_scale = 0.0f;      // static activation scale of this linear as published; 0: none
  std::string scales_name = {};  // of the tensor that publishes `scales`, for messages

  explicit operator bool() const { return static_cast<bool>(codes); }
};

// A matrix together with the memory it looks at: what encode() returns.
struct OwnedMatrix {
  QuantMatrix matrix;
  std::vector<Buffer> buffers;
};

}  // namespace conclave
