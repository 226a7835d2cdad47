#pragma once
// Which units of the packed weights a warp multiplies, in order, and the ring in shared memory through which they come.
//
// A phase has items: (group, part of the columns, pair of tiles) of so many units. Block b takes items b, b + grid, ..., in rounds of at
// most sixteen, one for each warp; the units of a round are dealt to the warps in equal runs, so a warp touches at most two items.
#include "kernels/cuda/common/bulk_copy.cuh"
#include "kernels/cuda/moe/grouping.cuh"

namespace conclave::cuda {

inline constexpr int kWarps = 16, kRoundItems = kWarps;

struct Phase {
  const std::byte* weights;
  int pairs;   // of tiles in an expert's matrix
  int chunks;  // parts of the columns
  int units;   // of an item: units along the columns in a part
  int items;   // of the whole grid

  __device__ __forceinline__ int block_items() const { return items > static_cast<int>(blockIdx.x) ? (items - 1 - blockIdx.x) / gridDim.x + 1 : 0; }
  __device__ __forceinline__ int rounds() const { return (block_items() + kRoundItems - 1) / kRoundItems; }
  __device__ __forceinline__ int round_items(int round) const { return min(block_items() - round * kRoundItems, kRoundItems); }
};

struct Item {
  int group, chunk, pair;
};
__device__ __forceinline__ Item item_of(const Phase& phase, int round, int n) {
  const int index = blockIdx.x + (round * kRoundItems + n) * gridDim.x;
  const int part = index / phase.pairs;
  return {part / phase.chunks, part % phase.chunks, index % phase.pairs};
}

// The run of units of warp w in a round of n items of `units` each.
struct Run {
  int begin, end;
};
__device__ __forceinline__ Run run_of(int warp, int n, int units) { return {warp * n * units / kWarps, (warp + 1) * n * units / kWarps}; }
// The warp whose run holds a unit.
__device__ __forceinline__ int warp_of(int unit, int n, int units) { return ((unit + 1) * kWarps - 1) / (n * units); }

// Walks over the units of one warp in a phase.
template <int kUnitBytes>
class UnitWalk {
 public:
  __device__ __forceinline__ UnitWalk(const Phase& phase, const Groups& groups, int warp) : phase_(phase), groups_(groups), warp_(warp) { enter(0); }
  __device__ __forceinline__ bool done() const { return round_ >= rounds_; }
  __device__ __forceinline__ const std::byte* address() const { return at_; }
  __device__ __forceinline__ void next() {
    at_ += kUnitBytes;
    if (++unit_ == end_)
      enter(round_ + 1);
    else if (++column_ == phase_.units)
      enter_item(item_ + 1, 0);
  }

 private:
  __device__ __forceinline__ void enter(int round) {
    rounds_ = phase_.rounds();
    for (round_ = round; round_ < rounds_; ++round_) {
      const Run run = run_of(warp_, phase_.round_items(round_), phase_.units);
      if (run.begin == run.end) continue;
      unit_ = run.begin;
      end_ = run.end;
      return enter_item(run.begin / phase_.units, run.begin % phase_.units);
    }
  }
  __device__ __forceinline__ void enter_item(int item, int column) {
    item_ = item;
    column_ = column;
    const Item i = item_of(phase_, round_, item);
    const std::int64_t row = static_cast<std::int64_t>(groups_.expert[i.group]) * phase_.pairs + i.pair;
    at_ = phase_.weights + (row * phase_.chunks * phase_.units + i.chunk * phase_.units + column) * kUnitBytes;
  }
  const Phase& phase_;
  const Groups& groups_;
  const std::byte* at_ = nullptr;
  int warp_, round_ = 0, rounds_ = 0, item_ = 0, column_ = 0, unit_ = 0, end_ = 0;
};

// A warp's own slots; lane 0 asks for copies, all lanes wait for them.
template <int kUnitBytes, int kSlots>
class UnitRing {
 public:
  // slots: 16-byte aligned, kSlots units; full: kSlots barriers.
  __device__ __forceinline__ UnitRing(char* slots, std::uint64_t* full, int lane) : slots_(slots), full_(full), lane_(lane) {
    if (lane == 0) {
      for (int i = 0; i < kSlots; ++i) mbarrier_init(full + i, 1);
      mbarrier_init_fence();
    }
    __syncwarp();
  }
  // Into the current slot, which all lanes have read.
  __device__ __forceinline__ void ask(const std::byte* unit, int slot) {
    if (lane_ != 0) return;
    mbarrier_expect(full_ + slot, kUnitBytes);
    bulk_copy(slots_ + slot * kUnitBytes, unit, kUnitBytes, full_ + slot);
  }
  __device__ __forceinline__ const char* wait() {
    mbarrier_wait(full_ + slot_, parity_);
    return slots_ + slot_ * kUnitBytes;
  }
  __device__ __forceinline__ int slot() const { return slot_; }
  __device__ __forceinline__ void advance() {
    if (++slot_ < kSlots) return;
    slot_ = 0;
    parity_ ^= 1;
  }

 private:
  char* slots_;
  std::uint64_t* full_;
  int lane_, slot_ = 0;
  std::uint32_t parity_ = 0;
};

}  // namespace conclave::cuda
