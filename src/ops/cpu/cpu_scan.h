#pragma once
// The recurrent operations on the CPU. A task has channels or a head of one sequence and goes through all of its rows, so no result
// depends on how the rows of a sequence are dealt out to batches, or on other sequences.
#include "device/thread_pool.h"
#include "kernels/cpu/table.h"
#include "ops/ops.h"

namespace conclave {

void cpu_causal_conv(ConstTensorView x, ConstTensorView weight, ConstTensorView bias, const Batch&, TensorView history,
                     TensorView out, ThreadPool&) noexcept;

void cpu_selective_scan(const KernelTable&, const SelectiveScan&, const Batch&, TensorView state, TensorView out,
                        ThreadPool&) noexcept;

}  // namespace conclave
