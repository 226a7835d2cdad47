#pragma once
// The whole experts call for few tokens in one cooperative kernel, bound by reading each active expert's weights once.
//
//   1. every block groups the (token, choice) pairs by expert;
//   2. gate and up, activation: inner[pair] = act(gate x, up x), 16 rows of both an item;
//   3. a barrier of the grid, behind which the first units of down are on their way already;
//   4. down: partial[chunk][pair] = weight * down inner, 32 rows an item;
//   5. the block that finishes the last part of 32 rows adds the parts of each token, in the order of its choices.
//
// Weights are the A operand of the tensor cores, decoded in registers; up to eight pairs of one expert are the columns of B, read where
// they lie (the L1 cache holds them). No sum depends on which block or warp came first.
#include "kernels/cuda/common/grid.cuh"
#include "kernels/cuda/moe/activation.cuh"
#include "kernels/cuda/moe/fp4_decode.cuh"
#include "kernels/cuda/moe/unit_stream.cuh"

namespace conclave::cuda {

inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kSlots = 3;                                 // of a warp's ring; more gained nothing
inline constexpr int kSegment = kUnitTiles * kTileRows * kGroupPairs;  // sums of one item by one warp
inline constexpr int kScratchWords = kWarps * 2 * kSegment;      // two segments a warp

template <int kUnitBytes>
struct ExpertsShared {
  alignas(128) char slots[kWarps][kSlots][kUnitBytes];
  alignas(16) float sums[kWarps][2][kSegment];  // [.., tile, lane, register of the product]
  std::uint64_t full[kWarps][kSlots];
  Groups groups;
  std::int16_t rank[kMaxCallPairs];
  int warp_sums[32];
  int last[kRoundItems];  // whether this block finished the item's rows
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
    outer_ = {args.down, outer_pairs, chunks, (args.inter_size + kUnitCols - 1) / kUnitCols / chunks, groups * chunks * outer_pairs};
  }

  __device__ __forceinline__ void run_phases() {
    Walk inner(inner_, shared_.groups, warp_), outer(outer_, shared_.groups, warp_);
    for (int slot = 0; slot < kSlots; ++slot) refill(inner, outer, slot);
    for (int round = 0; round < inner_.rounds(); ++round) {
      sum_round(inner_, round, args_.hidden, args_.hidden_stride, args_.top_k, args_.hidden_size, inner, outer);
      __syncthreads();
      finish_inner(round);
      __syncthreads();
    }
    grid_barrier(args_.state);
    let_next_kernel_start();
    for (int round = 0; round < outer_.rounds(); ++round) {
      sum_round(outer_, round, args_.inner, args_.inter_size, 1, args_.inter_size, inner, outer);
      __syncthreads();
      finish_outer(round);
      __syncthreads();
      add_parts(round);
    }
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

  // The row of this lane's column of B: pair lane / 4 of the group, several pairs a row. Null behind the group's last.
  __device__ __forceinline__ const bf16* row_of(int group, const bf16* rows, std::int64_t stride, int pairs_a_row) const {
    const Groups& g = shared_.groups;
    const int column = lane_ / 4;
    if (column >= g.count[group]) return nullptr;
    return rows + static_cast<std::int64_t>(g.pair_at[g.first[group] + column] / pairs_a_row) * stride;
  }

  // This warp's run of a round, to shared_.sums.
  __device__ __forceinline__ void sum_round(const Phase& phase, int round, const bf16* rows, std::int64_t stride, int pairs_a_row, int cols,
                            Walk& inner, Walk& outer) {
    const Run run = run_of(warp_, phase.round_items(round), phase.units);
    int item = run.begin / phase.units, column = run.begin % phase.units, segment = 0;
    for (int unit = run.begin; unit < run.end; ++item, ++segment, column = 0) {
      const Item at = item_of(phase, round, item);
      const bf16* row = row_of(at.group, rows, stride, pairs_a_row);
      const int end = min(run.end, unit + phase.units - column);
      int first = (at.chunk * phase.units + column) * kUnitCols + lane_ % 4 * 32;
      float sums[kUnitTiles][4] = {};
#pragma unroll 1
      for (; unit < end; ++unit, first += kUnitCols) {
        uint4 x[4];
        load_columns(row, first, cols, x);
        Unit<Scales> weights;
        weights.load(ring_.wait(), lane_);
        __syncwarp();
        refill(inner, outer, ring_.slot());
        ring_.advance();
        weights.multiply(x, sums);
      }
#pragma unroll
      for (int tile = 0; tile < kUnitTiles; ++tile)
        *reinterpret_cast<float4*>(&shared_.sums[warp_][segment][(tile * 32 + lane_) * 4]) =
            make_float4(sums[tile][0], sums[tile][1], sums[tile][2], sums[tile][3]);
    }
  }

  // One sum of an item over the warps that have parts of it, in their order.
  __device__ __forceinline__ float total(const Phase& phase, int items, int item, int tile, int row, int column) const {
    const int at = (tile * 32 + row % 8 * 4 + column / 2) * 4 + row / 8 * 2 + column % 2;
    const int end = warp_of((item + 1) * phase.units - 1, items, phase.units);
    float sum = 0.0f;
    for (int w = warp_of(item * phase.units, items, phase.units); w <= end; ++w) {
      const Run run = run_of(w, items, phase.units);
      if (run.begin < run.end) sum += shared_.sums[w][item - run.begin / phase.units][at];
    }
    return sum;
  }

  // Calls body(item, pair, column, row of the tile) for every result of a round.
  template <class Body>
  __device__ __forceinline__ void each_result(const Phase& phase, int round, Body body) {
    const Groups& g = shared_.groups;
    for (int i = threadIdx.x; i < phase.round_items(round) * kGroupPairs * kTileRows; i += kThreads) {
      const int item = i / (kGroupPairs * kTileRows), column = i / kTileRows % kGroupPairs;
      const Item at = item_of(phase, round, item);
      if (column < g.count[at.group]) body(item, at, g.pair_at[g.first[at.group] + column], column, i % kTileRows);
    }
  }

  __device__ __forceinline__ void finish_inner(int round) {
    const int items = inner_.round_items(round), size = args_.inter_size;
    each_result(inner_, round, [&](int item, const Item& at, int pair, int column, int row) {
      const std::int64_t expert = shared_.groups.expert[at.group];
      const float factor = args_.weight_on_input ? args_.weights[pair] : 1.0f;
      const float* unscale = args_.unscale + expert * 3;
      const auto value = [&](int tile, int i, float scale, const float* bias) {
        const float sum = total(inner_, items, item, tile, row, column) * scale * factor;
        return bias != nullptr ? sum + bias[expert * size + i] : sum;
      };
      bf16* out = args_.inner + static_cast<std::int64_t>(pair) * size;
      if (args_.activation.gated) {
        const int i = at.pair * kTileRows + row;
        const float gate = value(0, i, unscale[0], args_.gate_bias), up = value(1, i, unscale[1], args_.up_bias);
        out[i] = to_bf16(activate(args_.activation, gate, up));
        return;
      }
      for (int tile = 0; tile < kUnitTiles; ++tile) {
        const int i = (at.pair * kUnitTiles + tile) * kTileRows + row;
        if (i < size) out[i] = to_bf16(activate(args_.activation, value(tile, i, unscale[1], args_.up_bias)));
      }
    });
  }

  __device__ __forceinline__ void finish_outer(int round) {
    const int items = outer_.round_items(round), size = args_.hidden_size;
    each_result(outer_, round, [&](int item, const Item& at, int pair, int column, int row) {
      const std::int64_t expert = shared_.groups.expert[at.group];
      const float weight = args_.weight_on_input ? 1.0f : args_.weights[pair];
      for (int tile = 0; tile < kUnitTiles; ++tile) {
        const int i = (at.pair * kUnitTiles + tile) * kTileRows + row;
        if (i >= size) continue;
        float value = total(outer_, items, item, tile, row, column) * args_.unscale[expert * 3 + 2];
        if (args_.down_bias != nullptr && at.chunk == 0) value += args_.down_bias[expert * size + i];
        args_.partial[(static_cast<std::int64_t>(at.chunk) * args_.tokens * args_.top_k + pair) * size + i] = value * weight;
      }
    });
  }

  // Counts this block's parts of rows; adds up the rows that are complete with them.
  __device__ __forceinline__ void add_parts(int round) {
    const int items = outer_.round_items(round), expected = shared_.groups.groups * outer_.chunks;
    if (static_cast<int>(threadIdx.x) < items) {
      std::uint32_t* done = args_.state + 1 + item_of(outer_, round, threadIdx.x).pair;
      __threadfence();
      const bool last = add_acq_rel(done, 1) + 1 == static_cast<std::uint32_t>(expected);
      if (last) *done = 0;
      shared_.last[threadIdx.x] = last;
    }
    __syncthreads();
    for (int i = warp_; i < items * args_.tokens; i += kWarps) {
      const int item = i / args_.tokens, token = i % args_.tokens;
      if (shared_.last[item] != 0) add_token(token, item_of(outer_, round, item).pair * 32 + lane_);
    }
    __syncthreads();
  }

  __device__ __forceinline__ void add_token(int token, int row) {
    if (row >= args_.hidden_size) return;
    const std::int64_t size = args_.hidden_size, chunk_step = size * args_.tokens * args_.top_k;
    float sum = 0.0f;
#pragma unroll 4
    for (int pair = token * args_.top_k; pair < (token + 1) * args_.top_k; ++pair) {
      if (shared_.groups.expert_of[pair] < 0) continue;
      for (int chunk = 0; chunk < outer_.chunks; ++chunk) sum += __ldcg(args_.partial + chunk * chunk_step + pair * size + row);
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
  Phase inner_, outer_;
};

}  // namespace conclave::cuda
