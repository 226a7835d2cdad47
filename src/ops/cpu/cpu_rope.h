#pragma once
// Rotary position embedding on the CPU.
#include <cstdint>
#include <span>

#include "device/thread_pool.h"
#include "ops/ops.h"

namespace conclave {

void cpu_rope(TensorView x, std::span<const std::int32_t> positions, const Rope&, ThreadPool&) noexcept;

}  // namespace conclave
