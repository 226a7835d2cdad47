#pragma once
// What the ways to run experts on a CPU share: preparing weights, grouping slots, how a layer is cut into tasks, biases,
// activations.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/math.h"
#include "device/device.h"
#include "device/for_each_throwing.h"
#include "device/workspace.h"
#include "kernels/cpu/table.h"
#include "moe/activation.h"
#include "moe/pipeline/experts.h"
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

// An expert's matrices as its kernels read them. Matrix is made of a QuantMatrix.
template <class Matrix>
struct PreparedExpert {
  PreparedExpert() = default;
  explicit PreparedExpert(const Expert& e)
      : up(e.up),
        down(e.down),
        gate_bias(to_floats(e.gate_bias)),
        up_bias(to_floats(e.up_bias)),
        down_bias(to_floats(e.down_bias)) {
    if (e.gate) gate = Matrix(e.gate);
  }
  Matrix gate, up, down;
  std::vector<float> gate_bias, up_bias, down_bias;
};

// By all threads of the device, a CPU. Throws what making a Matrix throws.
template <class Matrix>
std::vector<PreparedExpert<Matrix>> prepare_experts(const ExpertWeights& weights, Device& device) {
  std::vector<PreparedExpert<Matrix>> experts(weights.experts.size());
  const auto stream = device.new_stream();
  for_each_throwing(pool_of(*stream), std::ssize(experts), [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    experts[at] = PreparedExpert<Matrix>(weights.experts[at]);
  });
  return experts;
}

inline std::int64_t most_active(const MoeProblem& problem, std::int64_t pairs) {
  return std::min<std::int64_t>(problem.local_count, pairs);
}

// What group_slots() takes of the workspace.
inline std::size_t grouping_bytes(const MoeProblem& problem, std::int64_t tokens) {
  const std::int64_t pairs = tokens * problem.top_k;
  const auto words = [](std::int64_t n) { return Workspace::padded(static_cast<std::size_t>(n) * 4); };
  return words(problem.local_count + 1) + 2 * words(pairs) + words(most_active(problem, pairs));
}

// The slots of a call by expert; Grouping::row_of is what ExpertRows wants, [tokens, top_k].
inline Grouping group_slots(const MoeProblem& problem, const ConstTensorView& ids, Workspace& workspace) {
  const std::int64_t pairs = ids.shape[0] * problem.top_k;
  const auto take = [&](std::int64_t count) {
    return std::span(workspace.take<std::int32_t>(count), static_cast<std::size_t>(count));
  };
  const auto row_of = take(pairs), begin = take(problem.local_count + 1), token_of = take(pairs);
  Grouping groups{begin, token_of, row_of, take(most_active(problem, pairs))};
  group_by_expert({ids.as<std::int32_t>(), static_cast<std::size_t>(pairs)}, problem.top_k, groups);
  return groups;
}

// ExpertRows::row_of of a grouping.
inline ConstTensorView rows_of_slots(const Grouping& groups, const MoeProblem& problem, std::int64_t tokens) {
  return {reinterpret_cast<const std::byte*>(groups.row_of.data()), DType::i32, {tokens, problem.top_k}};
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
