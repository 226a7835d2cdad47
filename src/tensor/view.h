#pragma once
// Views look at memory that someone else owns; they are cheap to copy and say where the memory lies.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace conclave {

// Byte is std::byte (may be written) or const std::byte (weights, which often lie in a read-only file map).
template <class Byte>
struct BasicTensorView {
  Byte* data = nullptr;
  DType dtype = DType::f32;
  bool on_device = false;  // true: an accelerator's memory, not to be touched by the host
  Shape shape;
  std::array<std::int64_t, Shape::kMaxRank> stride{};  // in elements, per dimension

  BasicTensorView() = default;
  // Contiguous, row-major.
  BasicTensorView(Byte* p, DType t, Shape s, bool device = false) : data(p), dtype(t), on_device(device), shape(s) {
    std::int64_t step = 1;
    for (int i = s.rank(); i-- > 0; step *= s[i]) stride[static_cast<std::size_t>(i)] = step;
  }
  // A view that may be written serves wherever one is read.
  template <class Other>
  requires(std::is_const_v<Byte>&& std::is_same_v<Other, std::remove_const_t<Byte>>)
      BasicTensorView(const BasicTensorView<Other>& o)
      : data(o.data), dtype(o.dtype), on_device(o.on_device), shape(o.shape), stride(o.stride) {}

  explicit operator bool() const { return data != nullptr; }
  std::int64_t bytes() const { return shape.elements() * size_of(dtype); }

  bool contiguous() const {
    std::int64_t step = 1;
    for (int i = shape.rank(); i-- > 0; step *= shape[i])
      if (shape[i] != 1 && stride[static_cast<std::size_t>(i)] != step) return false;
    return true;
  }

  // Typed pointer to the first element; a wrong type is our bug. as<float>() or as<const float>().
  template <class T>
  auto* as() const {
    using Plain = std::remove_const_t<T>;
    using Out = std::conditional_t<std::is_const_v<Byte>, const Plain, T>;
    CONCLAVE_CHECK(dtype == DTypeOf<Plain>::value, std::string(to_string(dtype)));
    return reinterpret_cast<Out*>(data);
  }
  // Row i of a view whose last dimension is contiguous. [rows, cols] -> pointer to cols elements.
  template <class T>
  auto* row(std::int64_t i) const {
    return as<T>() + i * stride[0];
  }
  // The rows [first, first + count) of the leading dimension.
  BasicTensorView rows(std::int64_t first, std::int64_t count) const {
    BasicTensorView out = *this;
    out.data += first * stride[0] * size_of(dtype);
    Shape s{count};
    for (int i = 1; i < shape.rank(); ++i) s.push_back(shape[i]);
    out.shape = s;
    return out;
  }
};

using TensorView = BasicTensorView<std::byte>;
using ConstTensorView = BasicTensorView<const std::byte>;

}  // namespace conclave
