#pragma once
// Linear maps on the CPU kernels.
#include <memory>

#include "device/caps.h"
#include "ops/ops.h"

namespace conclave {

// Packs `weight` for the kernels of caps.isa: 4-bit codes in tiles (ops/cpu/tiled_matrix.h) where there are vector kernels for
// them, everything else in rows (ops/cpu/packed_matrix.h). Throws Error.
std::unique_ptr<Linear> make_cpu_linear(const QuantMatrix& weight, ConstTensorView bias, const DeviceCaps&);
// workspace_bytes() of that map.
std::size_t cpu_linear_workspace_bytes(const QuantScheme&, std::int64_t cols, std::int64_t tokens, const DeviceCaps&);

}  // namespace conclave
