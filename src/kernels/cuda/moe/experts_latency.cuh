#pragma once
// The whole experts call for few tokens in one cooperative kernel, bound by reading each active expert's weights once.
//
//   1. every block groups the (token, choice) pairs by expert;
//   2. gate and up, activation: inner[pair] = act(gate x, up x), 16 rows of both an item;
//   3. a barrier of the grid, behind which the first units of down are on their way already;
//   4. down: partial[chunk][pair] = weight * down inner, 32 rows an item;
//   5. another barrier, behind which the parts of each token are added, in the order of its choices.
//
// Weights are the A operand of the tensor cores, decoded in registers; up to eight pairs of one expert are the columns of B, read
// where they lie (the L1 cache holds them). No sum depends on which block or warp came first.
#include "kernels/cuda/common/grid.cuh"
#include "kernels/cuda/moe/activation.cuh"
#include "kernels/cuda/moe/fp4_decode.cuh"
#include "kernels/cuda/moe/unit_stream.cuh"

namespace conclave::cuda {

inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kSlots = 3;                                       // of a warp's ring; more gained nothing
inline constexpr int kSegment = kUnitTiles * kTileRows * kGroupPairs;  // sums of one item by one warp

template <int kUnitBytes>
struct ExpertsShared {
  alignas(128) char slots[kWarps][kSlots][kUnitBytes];
  alignas(16) float sums[kWarps][2][kSegment];  // [.., tile, lane, register of the product]; while grouping, its scratch
  std::uint64_t full[kWarps][kSlots];
  Groups groups;
  std::int16_t rank[kMaxCallPairs];
  int warp_sums[32];
  float unscale[kMaxCallPairs][3];  // of a group: gate, up, down
  float weight[kMaxCallPairs];      // of a pair
};

// Columns [first, first + 32) of a row, zeros behind its end and without a row.
__device__ __forceinline__ void load_columns(const bf16* row, int first, int cols, uint4 (&x)[4]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    x[j] = make_uint4(0, 0, 0, 0);
    if (row != nullptr && first + 8 * j < cols) x[j] = *reinterpret_cast<const uint4*>(row + first + 8 * j);
  }
}

// One unit in registers, so that its slot is free.
template <class Scales>
struct Unit {
  uint4 codes[kUnitTiles][2];
  Scales scales;

  __device__ __forceinline__ void load(const char* unit, int lane) {
#pragma unroll
    for (int i = 0; i < kUnitTiles * 2; ++i) codes[i / 2][i % 2] = reinterpret_cast<const uint4*>(unit)[i * 32 + lane];
    scales.load(unit + kUnitCodeBytes, lane);
  }

  __device__ __forceinline__ void multiply(const uint4 (&x)[4], float (&sums)[kUnitTiles][4]) const {
#pragma unroll
    for (int step = 0; step < kUnitSteps; ++step) {
      const uint4& x4 = x[step / 2];
      const std::uint32_t b0 = step % 2 == 0 ? x4.x : x4.z, b1 = step % 2 == 0 ? x4.y : x4.w;
#pragma unroll
      for (int tile = 0; tile < kUnitTiles; ++tile) {
        const uint4& words = codes[tile][step / 4];
        const std::uint32_t word = step % 4 == 0 ? words.x : step % 4 == 1 ? words.y : step % 4 == 2 ? words.z : words.w;
        std::uint32_t a[4];
        decode_codes(word, a);
        a[0] = mul_bf16x2(a[0], scales.of(tile, 0, step));
        a[1] = mul_bf16x2(a[1], scales.of(tile, 1, step));
        a[2] = mul_bf16x2(a[2], scales.of(tile, 0, step));
        a[3] = mul_bf16x2(a[3], scales.of(tile, 1, step));
        mma_bf16(sums[tile], a, b0, b1);
      }
    }
  }
};

template <class Scales>
class ExpertsLatency {
  static constexpr int kUnitBytes = Scales::Units::kBytes;
  using Shared = ExpertsShared<kUnitBytes>;
  using Walk = UnitWalk<kUnitBytes>;
  using Ring = UnitRing<kUnitBytes, kSlots>;

 public:
  static constexpr std::size_t kSharedBytes = sizeof(Shared);

  __device__ static __forceinline__ void run(const ExpertsArgs& args, Shared& shared) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Ring ring(shared.slots[warp][0], shared.full[warp], lane);
    wait_for_previous_kernel();
    group_pairs<kThreads>(args, shared.groups, reinterpret_cast<int*>(shared.sums), shared.rank, shared.warp_sums);
    if (shared.groups.groups == 0) return write_zeros(args);
    ExpertsLatency(args, shared, ring, warp, lane).run_phases();
  }

 private:
  __device__ __forceinline__ ExpertsLatency(const ExpertsArgs& args, Shared& shared, Ring& ring, int warp, int lane)
      : args_(args), shared_(shared), ring_(ring), warp_(warp), lane_(lane) {
    const int groups = shared.groups.groups;
    const int inner_pairs = args.activation.gated ? args.inter_size / 16 : (args.inter_size + 31) / 32;
    const int outer_pairs = (args.hidden_size + 31) / 32, chunks = args.down_chunks;
    inner_ = {args.gate_up, inner_pairs, 1, (args.hidden_size + kUnitCols - 1) / kUnitCols, groups * inner_pairs};
    outer_ = {args.down, outer_pairs, chunks, (args.inter_size + kUnitCols - 1) / kUnitCols / chunks,
              groups * chunks * outer_pairs};
  }

  __device__ __forceinline__ void run_phases() {
    Walk inner(inner_, shared_.groups, warp_), outer(outer_, shared_.groups, warp_);
    for (int slot = 0; slot < kSlots; ++slot) refill(inner, outer, slot);
    GridBarrier barrier(args_.state);
    load_factors();
    sum_runs(inner_, args_.hidden, args_.hidden_stride, true, args_.hidden_size, inner, outer,
             [&](const Item& item, int column, int row, float gate, float up) { put_inner(item, column, row, gate, up); });
    barrier.wait();
    sum_runs(outer_, args_.inner, args_.inter_size, false, args_.inter_size, inner, outer,
             [&](const Item& item, int column, int row, float first, float second) {
               put_outer(item, column, row, first);
               put_outer(item, column, row + kTileRows, second);
             });
    let_next_kernel_start();
    barrier.wait();
    add_parts();
  }

  // While the first weights are on their way; each thread waits for its copies before the block meets and reads them.
  __device__ __forceinline__ void load_factors() {
    for (int i = threadIdx.x; i < shared_.groups.groups * 3; i += kThreads)
      async_copy(&shared_.unscale[i / 3][i % 3], args_.unscale + shared_.groups.expert[i / 3] * 3 + i % 3);
    for (int i = threadIdx.x; i < args_.tokens * args_.top_k; i += kThreads) async_copy(shared_.weight + i, args_.weights + i);
  }

  // Asks for the next unit, of down when all of gate and up are asked for.
  __device__ __forceinline__ void refill(Walk& inner, Walk& outer, int slot) {
    if (!inner.done())
      ask(inner, slot);
    else if (!outer.done())
      ask(outer, slot);
  }

  __device__ __forceinline__ void ask(Walk& walk, int slot) {
    ring_.ask(walk.address(), slot);
    walk.next();
  }

  // The row of this lane's column of B: that of pair lane / 4 of the group, or of its token. Null behind the group's last.
  __device__ __forceinline__ const bf16* row_of(int group, const bf16* rows, std::int64_t stride, bool of_tokens) const {
    const Groups& g = shared_.groups;
    const int column = lane_ / 4;
    if (column >= g.count[group]) return nullptr;
    const int at = g.first[group] + column;
    return rows + static_cast<std::int64_t>(of_tokens ? g.token_at[at] : g.pair_at[at]) * stride;
  }

  // Sums all items of a phase for this block's warps, and calls put(item, column of B, row, sums of both tiles) for each result.
  template <class Put>
  __device__ __forceinline__ void sum_runs(const Phase& phase, const bf16* rows, std::int64_t stride, bool of_tokens, int cols,
                                           Walk& inner, Walk& outer, Put put) {
    int segment = 0;
    for (RunWalk run(phase, warp_); run.begin < run.end; run.next()) {
      const Item item = run.item();
      float sums[kUnitTiles][4] = {};
      const int group = group_of(phase, item.part);
      sum_units(run, row_of(group, rows, stride, of_tokens), chunk_of(phase, item.part) * phase.units, cols, inner, outer, sums);
      if (run.whole()) {
        meet_with_factors();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int column = lane_ % 4 * 2 + i % 2;
          if (column < shared_.groups.count[group]) put(item, column, lane_ / 4 + i / 2 * 8, sums[0][i], sums[1][i]);
        }
      } else {
        keep(segment++, sums);
      }
    }
    const Rest rest(phase);
    if (rest.items == 0) return;
    constexpr float kNone[kUnitTiles][4] = {};
    if (segment == 0) keep(0, kNone);
    wait_for_async_copies();
    __syncthreads();
    finish_rest(phase, rest, put);
  }

  // At the end of their first whole items, which all warps have when one has.
  __device__ __forceinline__ void meet_with_factors() {
    if (met_) return;
    wait_for_async_copies();
    __syncthreads();
    met_ = true;
  }

  __device__ __forceinline__ void sum_units(const RunWalk& run, const bf16* row, int first_unit, int cols, Walk& inner, Walk& outer,
                                            float (&sums)[kUnitTiles][4]) {
    int first = (first_unit + run.begin) * kUnitCols + lane_ % 4 * 32;
    uint4 x[4];
    load_columns(row, first, cols, x);
#pragma unroll 1
    for (int unit = run.begin; unit < run.end; ++unit) {
      Unit<Scales> weights;
      weights.load(ring_.wait(), lane_);
      __syncwarp();
      refill(inner, outer, ring_.slot());
      ring_.advance();
      uint4 next[4];  // the columns of the next unit, loaded meanwhile
      load_columns(unit + 1 < run.end ? row : nullptr, first += kUnitCols, cols, next);
      weights.multiply(x, sums);
#pragma unroll
      for (int j = 0; j < 4; ++j) x[j] = next[j];
    }
  }

  __device__ __forceinline__ void keep(int segment, const float (&sums)[kUnitTiles][4]) {
#pragma unroll
    for (int tile = 0; tile < kUnitTiles; ++tile)
      *reinterpret_cast<float4*>(&shared_.sums[warp_][segment][(tile * 32 + lane_) * 4]) =
          make_float4(sums[tile][0], sums[tile][1], sums[tile][2], sums[tile][3]);
  }

  // Adds what the warps kept of the shared items, in their order, one item by each warp. The first of an item's warps may have
  // begun with the item before.
  template <class Put>
  __device__ __forceinline__ void finish_rest(const Phase& phase, const Rest& rest, Put put) {
    if (warp_ >= rest.items) return;
    const Item item = item_of(phase, rest.first + warp_);
    const int count = shared_.groups.count[group_of(phase, item.part)], row = lane_ % kTileRows;
    const int begin = warp_ * phase.units, first_warp = rest.warp_of(begin), last_warp = rest.warp_of(begin + phase.units - 1);
    const float* first_kept = shared_.sums[first_warp][rest.begin_of(first_warp) < begin ? 1 : 0];
    for (int column = lane_ / kTileRows; column < count; column += 32 / kTileRows) {
      const int at = (row % 8 * 4 + column / 2) * 4 + row / 8 * 2 + column % 2;
      float first = first_kept[at], second = first_kept[at + kSegment / kUnitTiles];
#pragma unroll 4
      for (int warp = first_warp + 1; warp <= last_warp; ++warp) {
        first += shared_.sums[warp][0][at];
        second += shared_.sums[warp][0][at + kSegment / kUnitTiles];
      }
      put(item, column, row, first, second);
    }
  }

  __device__ __forceinline__ int pair_of(int group, int column) const {
    return shared_.groups.pair_at[shared_.groups.first[group] + column];
  }

  // Sums of gate and up for one row, or of up for two neighbouring tiles.
  __device__ __forceinline__ void put_inner(const Item& item, int column, int row, float first, float second) {
    const int pair = pair_of(item.part, column), size = args_.inter_size;
    const std::int64_t expert = shared_.groups.expert[item.part];
    const float factor = args_.weight_on_input ? shared_.weight[pair] : 1.0f;
    const float* unscale = shared_.unscale[item.part];
    const auto value = [&](float sum, float scale, const float* bias, int i) {
      return sum * scale * factor + (bias != nullptr ? bias[expert * size + i] : 0.0f);
    };
    bf16* out = args_.inner + static_cast<std::int64_t>(pair) * size;
    if (args_.activation.gated) {
      const int i = item.pair * kTileRows + row;
      out[i] = to_bf16(
          activate(args_.activation, value(first, unscale[0], args_.gate_bias, i), value(second, unscale[1], args_.up_bias, i)));
      return;
    }
    const int i = item.pair * kUnitTiles * kTileRows + row, j = i + kTileRows;
    out[i] = to_bf16(activate(args_.activation, value(first, unscale[1], args_.up_bias, i)));
    if (j < size) out[j] = to_bf16(activate(args_.activation, value(second, unscale[1], args_.up_bias, j)));
  }

  // row: of the pair of tiles.
  __device__ __forceinline__ void put_outer(const Item& item, int column, int row, float sum) {
    const int i = item.pair * kUnitTiles * kTileRows + row, size = args_.hidden_size;
    if (i >= size) return;
    const int group = group_of(outer_, item.part), chunk = chunk_of(outer_, item.part), pair = pair_of(group, column);
    const std::int64_t expert = shared_.groups.expert[group];
    float value = sum * shared_.unscale[group][2];
    if (args_.down_bias != nullptr && chunk == 0) value += args_.down_bias[expert * size + i];
    const float weight = args_.weight_on_input ? 1.0f : shared_.weight[pair];
    args_.partial[(static_cast<std::int64_t>(chunk) * args_.tokens * args_.top_k + pair) * size + i] = value * weight;
  }

  // Each warp of the grid adds 32 rows of a token at a time.
  __device__ __forceinline__ void add_parts() {
    const int rows = (args_.hidden_size + 31) / 32, tasks = args_.tokens * rows;
    for (int task = warp_ * gridDim.x + blockIdx.x; task < tasks; task += kWarps * gridDim.x)
      add_token(task / rows, task % rows * 32 + lane_);
  }

  __device__ __forceinline__ void add_token(int token, int row) {
    if (row >= args_.hidden_size) return;
    const std::int64_t size = args_.hidden_size, chunk_step = size * args_.tokens * args_.top_k;
    float sum = 0.0f;
    for (int chunk = 0; chunk < outer_.chunks; ++chunk) {
#pragma unroll 8
      for (int pair = token * args_.top_k; pair < (token + 1) * args_.top_k; ++pair)
        if (shared_.groups.expert_of[pair] >= 0) sum += __ldcg(args_.partial + chunk * chunk_step + pair * size + row);
    }
    args_.out[token * args_.out_stride + row] = to_bf16(sum);
  }

  __device__ static __forceinline__ void write_zeros(const ExpertsArgs& args) {
    for (int token = blockIdx.x; token < args.tokens; token += gridDim.x)
      for (int i = threadIdx.x; i < args.hidden_size; i += kThreads) args.out[token * args.out_stride + i] = bf16{0};
  }

  static __device__ __forceinline__ bf16 to_bf16(float value) {
    std::uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bf16{bits};
  }

  const ExpertsArgs& args_;
  Shared& shared_;
  Ring& ring_;
  int warp_, lane_;
  bool met_ = false;  // since the factors were asked for
  Phase inner_, outer_;
};

}  // namespace conclave::cuda
