#include "models/parallel_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/dummy_checkpoint.h"
#include "conclave/error.h"
#include "ops/ops.h"

namespace conclave {
namespace {

RankMemory memory_of(const ModelSize& size) { return {size.weight_bytes, size.kv_values_per_token}; }

ParallelSize plan_rank(const FileSet& files, const ModelReport& whole, std::int32_t ranks) {
  ParallelSize size{ranks, {}, {}};
  const auto device = open_cpu_device(1);
  const auto ops = make_reference_ops();
  const auto dummy = open_dummy_checkpoint({std::shared_ptr<void>(), &files}, DummyValues::none);
  try {
    size.memory = memory_of(plan_model(*dummy, {.device = *device,
                                                .ops = *ops,
                                                .moe_backend = "reference",
                                                .ranks = ranks,
                                                .whole = &whole,
                                                .all_problems = &size.problems})
                                .size);
  } catch (const Error& e) {
    if (size.problems.empty()) size.problems.push_back(e.what());
  }
  return size;
}

}  // namespace

std::vector<ParallelSize> tensor_parallel_sizes(const FileSet& files, const ModelReport& whole) {
  std::vector<ParallelSize> sizes{{1, {}, memory_of(whole.size)}};
  for (std::int32_t ranks = 2; ranks <= kMostRanks; ranks *= 2) sizes.push_back(plan_rank(files, whole, ranks));
  return sizes;
}

std::vector<ParallelSize> expert_parallel_sizes(const ModelReport& whole) {
  std::vector<ParallelSize> sizes;
  for (std::int32_t ranks = 1; ranks <= kMostRanks && !whole.experts.empty(); ranks *= 2) {
    ParallelSize& size = sizes.emplace_back(ParallelSize{ranks, {}, memory_of(whole.size)});
    size.memory.weight_bytes -= whole.size.expert_bytes - whole.size.expert_bytes / ranks;
    for (const ModelReport::Experts& e : whole.experts)
      if (e.problem.experts % ranks != 0)
        size.problems.push_back(fmt::format("{} experts cannot be divided among {} ranks", e.problem.experts, ranks));
    std::ranges::sort(size.problems);
    size.problems.erase(std::unique(size.problems.begin(), size.problems.end()), size.problems.end());
  }
  return sizes;
}

}  // namespace conclave
