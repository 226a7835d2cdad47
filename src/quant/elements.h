#pragma once
// Reading single elements of views. Tensors in a file may start at any byte, so nothing here needs alignment.
#include <cstdint>
#include <cstring>

#include "tensor/view.h"

namespace conclave {

// Element `index` of an array of T that starts at `data`.
template <class T>
T load(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// The offset in elements of element (r, c) of a matrix.
inline std::int64_t offset_of(const ConstTensorView& view, std::int64_t r, std::int64_t c) {
  return r * view.stride[0] + c * view.stride[1];
}

// The value of element `offset` of a tensor of floats.
inline float load_float(const ConstTensorView& view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::f32: return load<float>(view.data, offset);
    case DType::f16: return load<f16>(view.data, offset).to_float();
    case DType::bf16: return load<bf16>(view.data, offset).to_float();
    case DType::f8e4m3: return load<f8e4m3>(view.data, offset).to_float();
    case DType::f8e8m0: return load<f8e8m0>(view.data, offset).to_float();
    default: break;
  }
  check_failed("a type of floats", __FILE__, __LINE__, std::string(to_string(view.dtype)));
}

inline bool holds_floats(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

}  // namespace conclave
