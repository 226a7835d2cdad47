#pragma once
// Scales: which values are allowed in a checkpoint, and the rules that derive them when we quantise.
#include <cstdint>
#include <string>

#include "quant/matrix.h"

namespace conclave {

// A scale that one may multiply by and divide by in float32: finite, above 0 and not subnormal.
bool usable_scale(float value);

// Looks at every element of a tensor of scales. "" when all are allowed, else how many are not and what the first one is. Allowed:
//   f32, bf16, f16   usable_scale()
//   f8e8m0           any power of two; its one other code is NaN
//   f8e4m3           not negative and not NaN. 0 is allowed: it says that the block is zero (NVFP4's run-time rule writes it)
std::string describe_bad_scales(const ConstTensorView& scales);
// The same for the scales of a matrix, naming their tensor. "" for a matrix without scales.
std::string describe_bad_scales(const QuantMatrix&);

// A scale under which a matrix of `cols` columns, whose codes have this root mean square, keeps the size of its inputs.
float unit_gain_scale(std::int64_t cols, float code_rms);

// The smallest power of two that is not below `value` (positive, finite), as its E8M0 code: "UE8M0" scales round up.
std::uint8_t e8m0_at_least(float value);

// Run-time rule of the MX formats: the exponent of amax, rounded up from a significand of 1.75 on, less the exponent of the largest
// element (2 for E2M1, 8 for E4M3), as an E8M0 code.
std::uint8_t mx_scale(float amax, int element_exponent);

}  // namespace conclave
