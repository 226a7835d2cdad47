#pragma once
// The recurrent operations as their formulas read: one sequence, one row, one channel after the other. Sums are float64; what is
// kept between rows is float32, so a sequence in pieces gives what it gives whole.
#include "ops/ops.h"

namespace conclave {

void reference_causal_conv(ConstTensorView x, ConstTensorView weight, ConstTensorView bias, const Batch&, TensorView history,
                           TensorView out) noexcept;

void reference_selective_scan(const SelectiveScan&, const Batch&, TensorView state, TensorView out) noexcept;

}  // namespace conclave
