#pragma once
// Rows of float32 activations as blocks of 16-bit integers (IntBlock of kernels/cpu/table.h), what kernels over tiles multiply.
#include <cstddef>
#include <cstdint>

#include "base/math.h"
#include "device/thread_pool.h"
#include "device/workspace.h"
#include "kernels/cpu/table.h"
#include "tensor/view.h"

namespace conclave {

inline constexpr std::int64_t kIntBlock = 16;  // columns of a block

inline std::size_t int_rows_bytes(std::int64_t rows, std::int64_t cols) {
  return rows <= 0 ? 0 : Workspace::padded(static_cast<std::size_t>(rows * ceil_div(cols, kIntBlock)) * sizeof(IntBlock));
}
inline IntBlock* take_int_blocks(Workspace& workspace, std::int64_t count) {
  return reinterpret_cast<IntBlock*>(workspace.take<std::uint8_t>(count * static_cast<std::int64_t>(sizeof(IntBlock))));
}

// x f32 [T, cols], rows may be apart -> out [T, ceil(cols / 16)].
inline void to_int_rows(const KernelTable& kernels, const ConstTensorView& x, IntBlock* out, ThreadPool& pool) noexcept {
  constexpr std::int64_t kWorthARegion = 65536;  // values, some ten microseconds
  const std::int64_t rows = x.shape[0], cols = x.shape[1], blocks = ceil_div(cols, kIntBlock);
  const auto one = [&](std::int64_t t, int) noexcept { kernels.to_int_blocks(x.row<float>(t), cols, out + t * blocks); };
  if (rows * cols >= kWorthARegion) return pool.for_each(rows, one);
  for (std::int64_t t = 0; t < rows; ++t) one(t, 0);
}

}  // namespace conclave
