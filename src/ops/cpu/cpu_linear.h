#pragma once
// Linear maps on the CPU kernels.
#include <memory>

#include "device/caps.h"
#include "ops/ops.h"

namespace conclave {

// Packs `weight` (ops/cpu/packed_matrix.h) for the kernels of caps.isa. Throws Error.
std::unique_ptr<Linear> make_cpu_linear(const QuantMatrix& weight, ConstTensorView bias, const DeviceCaps&);

}  // namespace conclave
