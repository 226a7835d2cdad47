#pragma once
// A weight or activation format as data: what one code is, and which elements share a scale. Spec: quantisation formats as
// published by ModelOpt, compressed-tensors, DeepSeek and OpenAI (docs/formats.md).
#include <compare>
#include <cstdint>
#include <string>

#include "tensor/dtype.h"

namespace conclave {

// One element as stored.
enum class Code : std::uint8_t {
  f32,
  f16,
  bf16,
  f8e4m3,
  e2m1,  // two per byte, even element in the low nibble
  int4,  // eight per int32, element 0 in the lowest nibble, stored as value + 8
};

// value(n, k) = (code(n, k) - zero(n, k)) * scale(n / scale_rows, k / scale_cols) * global
struct QuantScheme {
  Code code = Code::bf16;
  std::int16_t scale_rows = 0;  // rows that share a scale; 0: all of them
  std::int16_t scale_cols = 0;  // columns that share a scale; 0: all of them
  DType scale = DType::f32;     // type of the block scales: f8e4m3 (NVFP4), f8e8m0 (MXFP4), f32, bf16, f16
  bool scaled = false;          // false: the codes are the values (f32, f16, bf16)
  bool global = false;          // one more f32 scale for the whole matrix (NVFP4)
  bool zero_point = false;      // asymmetric int4
  bool dynamic = false;         // activations: scales are computed per call, not read from the checkpoint
  auto operator<=>(const QuantScheme&) const = default;
};

inline constexpr QuantScheme kF32{Code::f32};
inline constexpr QuantScheme kF16{Code::f16};
inline constexpr QuantScheme kBf16{Code::bf16};
inline constexpr QuantScheme kFp8Tensor{Code::f8e4m3, 0, 0, DType::f32, true};
inline constexpr QuantScheme kFp8Channel{Code::f8e4m3, 1, 0, DType::f32, true};
inline constexpr QuantScheme kFp8Block128{Code::f8e4m3, 128, 128, DType::f32, true};
inline constexpr QuantScheme kNvfp4{Code::e2m1, 1, 16, DType::f8e4m3, true, true};
inline constexpr QuantScheme kMxfp4{Code::e2m1, 1, 32, DType::f8e8m0, true};
inline constexpr QuantScheme kInt4Group128{Code::int4, 1, 128, DType::bf16, true};
inline constexpr QuantScheme kInt4Group128Zero{Code::int4, 1, 128, DType::bf16, true, false, true};

// Activations. The static ones use the linear's published input scale.
inline constexpr QuantScheme kFp8Token128{Code::f8e4m3, 1, 128, DType::f32, true, false, false, true};
inline constexpr QuantScheme kFp8TokenDynamic{Code::f8e4m3, 1, 0, DType::f32, true, false, false, true};
inline constexpr QuantScheme kFp8TensorStatic = kFp8Tensor;
inline constexpr QuantScheme kNvfp4Activation = kNvfp4;

// A short stable name for messages, tables and options: "bf16", "nvfp4", "fp8_block128", "int4_g128_zp", ...
std::string to_string(const QuantScheme&);

}  // namespace conclave
