#pragma once
// Linear maps with all weights decoded to float32 and sums in float64.
#include <memory>

#include "ops/ops.h"

namespace conclave {

std::unique_ptr<Linear> make_reference_linear(const QuantMatrix& weight, ConstTensorView bias);

}  // namespace conclave
