#pragma once
// (token, choice) pairs brought together by expert, in groups of at most eight: the columns of one tensor core product. Every block
// does it for itself, by a stable counting sort, so that results never depend on chance.
#include "kernels/cuda/moe/launch.h"

namespace conclave::cuda {

inline constexpr int kGroupPairs = 8;

struct Groups {
  std::int16_t expert_of[kMaxCallPairs];                                           // of a pair: local expert, -1: none
  std::int16_t pair_at[kMaxCallPairs];                                             // pairs by expert, then by number
  std::int16_t token_at[kMaxCallPairs];                                            // and their tokens
  std::int16_t expert[kMaxCallPairs], first[kMaxCallPairs], count[kMaxCallPairs];  // of a group; first: position in pair_at
  std::int32_t groups;
};

// What grouping needs meanwhile: two words for each local expert.
constexpr int grouping_scratch_words(int local_count) { return 2 * local_count; }

__device__ __forceinline__ int local_expert(const ExpertsArgs& args, int pair) {
  const int id = args.ids[pair], expert = id - args.local_first;
  return id >= 0 && id < args.experts && expert >= 0 && expert < args.local_count ? expert : -1;
}

// One warp numbers the pairs of each expert in order: ranks within 32 pairs by comparing lanes, across them by a count per expert.
__device__ __forceinline__ void rank_pairs(const ExpertsArgs& args, Groups& groups, int* count, std::int16_t* rank) {
  const int lane = threadIdx.x, pairs = args.tokens * args.top_k;
  for (int base = 0; base < pairs; base += 32) {
    const int pair = base + lane;
    const int expert = pair < pairs ? local_expert(args, pair) : -1;
    const unsigned same = __match_any_sync(0xffffffffu, expert);
    const int before = __popc(same & ((1u << lane) - 1u));
    const int earlier = expert >= 0 ? count[expert] : 0;
    __syncwarp();
    if (expert >= 0 && before == 0) count[expert] = earlier + __popc(same);
    __syncwarp();
    if (pair < pairs) {
      groups.expert_of[pair] = static_cast<std::int16_t>(expert);
      rank[pair] = static_cast<std::int16_t>(earlier + before);
    }
  }
}

__device__ __forceinline__ void place(const ExpertsArgs& args, Groups& groups, int at, int pair) {
  groups.pair_at[at] = static_cast<std::int16_t>(pair);
  groups.token_at[at] = static_cast<std::int16_t>(pair / args.top_k);
}

// At most 32 pairs: one warp does it all, groups in the order of their first pairs.
__device__ __forceinline__ void group_few_pairs(const ExpertsArgs& args, Groups& groups) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = threadIdx.x, pairs = args.tokens * args.top_k, expert = lane < pairs ? local_expert(args, lane) : -1;
  const unsigned same = __match_any_sync(kAll, expert), below = (1u << lane) - 1u;
  const bool leads = expert >= 0 && (same & below) == 0;
  const int count = leads ? __popc(same) : 0;
  int sum = count | (count + kGroupPairs - 1) / kGroupPairs << 16;  // pairs in the low half of a word, groups in the high one
  const int own = sum;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAll, sum, step);
    if (lane >= step) sum += other;
  }
  const int total = __shfl_sync(kAll, sum, 31), before = sum - own;
  const int first = __shfl_sync(kAll, before, __ffs(static_cast<int>(same)) - 1) & 0xffff;
  if (lane < pairs) groups.expert_of[lane] = static_cast<std::int16_t>(expert);
  if (expert >= 0) place(args, groups, first + __popc(same & below), lane);
  for (int done = 0, group = before >> 16; done < count; done += kGroupPairs, ++group) {
    groups.expert[group] = static_cast<std::int16_t>(expert);
    groups.first[group] = static_cast<std::int16_t>(first + done);
    groups.count[group] = static_cast<std::int16_t>(min(kGroupPairs, count - done));
  }
  if (lane == 0) groups.groups = total >> 16;
}

// By all threads of a block of kThreads. scratch: grouping_scratch_words(); rank and warp_sums: kMaxCallPairs and 32 entries.
template <int kThreads>
__device__ __forceinline__ void group_pairs(const ExpertsArgs& args, Groups& groups, int* scratch, std::int16_t* rank,
                                            int* warp_sums) {
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, experts = args.local_count;
  if (args.tokens * args.top_k <= 32) {
    if (warp == 0) group_few_pairs(args, groups);
    __syncthreads();
    return;
  }
  int *count = scratch, *first = scratch + experts;
  for (int e = thread; e < experts; e += kThreads) count[e] = 0;
  __syncthreads();
  if (warp == 0) rank_pairs(args, groups, count, rank);
  __syncthreads();

  // Prefix sums over experts: pairs in the low half of a word, groups in the high one.
  const int each = (experts + kThreads - 1) / kThreads, begin = min(thread * each, experts), end = min(begin + each, experts);
  const auto packed = [&](int e) { return count[e] | (count[e] + kGroupPairs - 1) / kGroupPairs << 16; };
  int own = 0;
  for (int e = begin; e < end; ++e) own += packed(e);
  int sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += below;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  int before = sum - own, total = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += warp_sums[w];
    total += warp_sums[w];
  }
  for (int e = begin; e < end; before += packed(e++)) {
    first[e] = before & 0xffff;
    for (int done = 0, group = before >> 16; done < count[e]; done += kGroupPairs, ++group) {
      groups.expert[group] = static_cast<std::int16_t>(e);
      groups.first[group] = static_cast<std::int16_t>(first[e] + done);
      groups.count[group] = static_cast<std::int16_t>(min(kGroupPairs, count[e] - done));
    }
  }
  if (thread == 0) groups.groups = total >> 16;
  __syncthreads();
  for (int pair = thread; pair < args.tokens * args.top_k; pair += kThreads)
    if (groups.expert_of[pair] >= 0) place(args, groups, first[groups.expert_of[pair]] + rank[pair], pair);
  __syncthreads();
}

}  // namespace conclave::cuda
