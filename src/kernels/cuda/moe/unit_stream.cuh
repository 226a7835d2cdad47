#pragma once
// Which units of the packed weights a warp multiplies, in order, and the ring in shared memory through which they come.
//
// A phase has items: (group, part of the columns, pair of tiles) of so many units. Block b takes items b, b + grid, ... Sixteen at
// a time they go to its warps whole, so that no warp waits for another; the units of the rest are dealt to all warps in equal runs.
#include "kernels/cuda/common/bulk_copy.cuh"
#include "kernels/cuda/moe/grouping.cuh"

namespace conclave::cuda {

inline constexpr int kWarps = 16;

struct Phase {
  const std::byte* weights;
  int pairs;   // of tiles in an expert's matrix
  int chunks;  // parts of the columns
  int units;   // of an item: units along the columns in a part
  int items;   // of the whole grid

  __device__ __forceinline__ int block_items() const {
    return items > static_cast<int>(blockIdx.x) ? (items - 1 - blockIdx.x) / gridDim.x + 1 : 0;
  }
};

// (group, part) as one number, and the pair of tiles.
struct Item {
  int part, pair;
};
__device__ __forceinline__ Item item_of(const Phase& phase, int n) {
  const int index = blockIdx.x + n * gridDim.x;
  return {index / phase.pairs, index % phase.pairs};
}
__device__ __forceinline__ int group_of(const Phase& phase, int part) { return phase.chunks == 1 ? part : part / phase.chunks; }
__device__ __forceinline__ int chunk_of(const Phase& phase, int part) { return phase.chunks == 1 ? 0 : part % phase.chunks; }

// The items of a block that all warps share, and their units in the order of items.
struct Rest {
  int first, items, units;  // units: of all
  __device__ __forceinline__ explicit Rest(const Phase& phase)
      : first(phase.block_items() / kWarps * kWarps), items(phase.block_items() - first), units(items * phase.units) {}
  __device__ __forceinline__ int begin_of(int warp) const { return warp * units / kWarps; }
  // The warp whose run holds a unit.
  __device__ __forceinline__ int warp_of(int unit) const { return ((unit + 1) * kWarps - 1) / units; }
};

// Walks over what one warp multiplies in a phase: runs of units within one item.
class RunWalk {
 public:
  __device__ __forceinline__ RunWalk(const Phase& phase, int warp) : phase_(phase), n_(warp) {
    const Rest rest(phase);
    whole_ = rest.first;
    at_ = rest.begin_of(warp);
    stop_ = rest.begin_of(warp + 1);
    const int step = kWarps * static_cast<int>(gridDim.x);
    step_part_ = step / phase.pairs;
    step_pair_ = step - step_part_ * phase.pairs;
    item_ = item_of(phase, warp);
    if (n_ < whole_) {
      begin = 0;
      end = phase.units;
    } else {
      enter_rest();
    }
  }

  int begin = 0, end = 0;  // of the run, in units of its item; equal: there is no more
  __device__ __forceinline__ bool whole() const { return n_ < whole_; }
  __device__ __forceinline__ const Item& item() const { return item_; }
  __device__ __forceinline__ void next() {
    if (!whole()) return next_of_rest();
    n_ += kWarps;
    if (n_ >= whole_) return enter_rest();
    item_.part += step_part_;
    item_.pair += step_pair_;
    if (item_.pair >= phase_.pairs) {
      item_.pair -= phase_.pairs;
      ++item_.part;
    }
  }

 private:
  __device__ __forceinline__ void enter_rest() {
    n_ = whole_ + at_ / phase_.units;
    begin = at_ % phase_.units;
    fit();
  }
  __device__ __forceinline__ void next_of_rest() {
    ++n_;
    begin = 0;
    fit();
  }
  __device__ __forceinline__ void fit() {
    const int count = min(stop_ - at_, phase_.units - begin);
    end = begin + count;
    at_ += count;
    if (count > 0) item_ = item_of(phase_, n_);
  }
  const Phase& phase_;
  Item item_;
  int n_, whole_, at_, stop_, step_part_, step_pair_;
};

// The same, unit by unit, as addresses.
template <int kUnitBytes>
class UnitWalk {
 public:
  __device__ __forceinline__ UnitWalk(const Phase& phase, const Groups& groups, int warp)
      : phase_(phase), groups_(groups), runs_(phase, warp) {
    enter();
  }
  __device__ __forceinline__ bool done() const { return left_ == 0; }
  __device__ __forceinline__ const std::byte* address() const { return at_; }
  __device__ __forceinline__ void next() {
    at_ += kUnitBytes;
    if (--left_ > 0) return;
    runs_.next();
    enter();
  }

 private:
  __device__ __forceinline__ void enter() {
    left_ = runs_.end - runs_.begin;
    if (left_ == 0) return;
    const Item& item = runs_.item();
    const std::int64_t row = static_cast<std::int64_t>(groups_.expert[group_of(phase_, item.part)]) * phase_.pairs + item.pair;
    at_ = phase_.weights + ((row * phase_.chunks + chunk_of(phase_, item.part)) * phase_.units + runs_.begin) * kUnitBytes;
  }
  const Phase& phase_;
  const Groups& groups_;
  RunWalk runs_;
  const std::byte* at_ = nullptr;
  int left_ = 0;
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
