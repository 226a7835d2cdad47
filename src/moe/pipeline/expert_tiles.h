#pragma once
// What the ways to run experts on a CPU share: how a layer is cut into tasks, biases, activations.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/math.h"
#include "kernels/cpu/table.h"
#include "moe/activation.h"
#include "moe/pipeline/grouping.h"
#include "moe/plans/cpu_tiles.h"
#include "tensor/view.h"

namespace conclave::moe {

// f32 or bf16 [n]; empty for none.
inline std::vector<float> to_floats(const ConstTensorView& v) {
  std::vector<float> out;
  if (!v) return out;
  for (std::int64_t i = 0; i < v.shape[0]; ++i)
    out.push_back(v.dtype == DType::f32 ? v.as<float>()[i * v.stride[0]] : v.as<bf16>()[i * v.stride[0]].to_float());
  return out;
}

// A range of rows of one expert's matrix: one task of a parallel region.
struct Tile {
  std::int32_t expert;
  std::int64_t first_row, end_row;
  std::int64_t first, count;  // sorted slots of the expert
};

// A parallel region over (active expert, tile of rows).
struct Tiling {
  const Grouping& groups;
  std::int64_t rows, tile, tiles;

  Tiling(const Grouping& g, std::int64_t r, std::int64_t cols, int threads)
      : groups(g), rows(r), tile(rows_per_task(r, cols, g.active_count, threads)), tiles(ceil_div(r, tile)) {}
  std::int64_t tasks() const { return groups.active_count * tiles; }
  Tile operator[](std::int64_t task) const {
    const std::int32_t expert = groups.active[static_cast<std::size_t>(task / tiles)];
    const auto e = static_cast<std::size_t>(expert);
    const std::int64_t row = task % tiles * tile;
    return {expert, row, std::min(row + tile, rows), groups.begin[e], groups.begin[e + 1] - groups.begin[e]};
  }
};

inline void add_bias(const std::vector<float>& bias, const Tile& tile, float* rows, std::int64_t stride) {
  if (bias.empty()) return;
  for (std::int64_t p = tile.first; p < tile.first + tile.count; ++p)
    for (std::int64_t r = tile.first_row; r < tile.end_row; ++r) rows[p * stride + r] += bias[static_cast<std::size_t>(r)];
}

// up = act(gate, up); gate is null where there is none.
inline void activate_row(const ActivationSpec& spec, const KernelTable& kernels, const float* gate, float* up, std::int64_t n) {
  if (spec.gated && spec.kind == Activation::silu && spec.limit == 0.0f) return kernels.silu_mul(gate, up, up, n);
  for (std::int64_t i = 0; i < n; ++i)
    up[i] = static_cast<float>(spec.gated ? activate(spec, gate[i], up[i]) : activate(spec, up[i]));
}

}  // namespace conclave::moe
