#pragma once
// The bias of a linear map as it is added: float32, or nothing.
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "quant/elements.h"
#include "tensor/view.h"

namespace conclave {

// `bias` [rows] of floats, or empty, which gives an empty vector.
inline std::vector<float> bias_values(const ConstTensorView& bias, std::int64_t rows) {
  std::vector<float> values;
  if (!bias) return values;
  CONCLAVE_CHECK(bias.shape == Shape{rows}, to_string(bias.shape));
  for (std::int64_t r = 0; r < rows; ++r) values.push_back(load_float(bias, r * bias.stride[0]));
  return values;
}

}  // namespace conclave
