#pragma once
// Walking the rows of a view of any rank: a row is the last dimension, which is contiguous; the others may be strided.
#include <cstdint>

#include "tensor/view.h"

namespace conclave {

template <class Byte>
std::int64_t row_count(const BasicTensorView<Byte>& view) {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < view.shape.rank(); ++i) rows *= view.shape[i];
  return rows;
}

template <class Byte>
std::int64_t row_length(const BasicTensorView<Byte>& view) {
  return view.shape[view.shape.rank() - 1];
}

// The row at `index` in row-major order of the leading dimensions.
template <class T, class Byte>
auto* row_at(const BasicTensorView<Byte>& view, std::int64_t index) {
  std::int64_t offset = 0;
  for (int i = view.shape.rank() - 1; i-- > 0; index /= view.shape[i])
    offset += index % view.shape[i] * view.stride[static_cast<std::size_t>(i)];
  return view.template as<T>() + offset;
}

}  // namespace conclave
