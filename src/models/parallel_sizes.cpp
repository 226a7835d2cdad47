#include "models/parallel_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/dummy_checkpoint.h"
#include "conclave/error.h"

namespace conclave {
namespace {

class RankPlan {
 public:
  RankPlan(const FileSet& files, const ModelReport& whole, const LoadContext& each, const StepSize& step)
      : files_(files), whole_(whole), each_(each), step_(step) {}

  ParallelSize of(std::int32_t ranks) const {
    ParallelSize size{ranks, {}, {}};
    try {
      plan(size, each_.moe_backend);
    } catch (const Error& e) {
      if (e.code() == Errc::cancelled) throw;
      if (size.problems.empty()) plan_what_nothing_runs(size);
    }
    return size;
  }

 private:
  void plan(ParallelSize& size, const std::string& backend) const {
    const auto dummy = open_dummy_checkpoint({std::shared_ptr<void>(), &files_}, DummyValues::none);
    LoadContext context = each_;
    context.moe_backend = backend;
    context.ranks = size.ranks;
    context.whole = &whole_;
    context.all_problems = &size.problems;
    const auto model = plan_model(*dummy, context);
    const ModelSize& planned = model->report().size;
    const std::int64_t longest = step_.context > 0 ? step_.context : model->config().max_positions;
    size.memory = {planned.weight_bytes, planned.kv_values_per_token,
                   static_cast<std::int64_t>(model->workspace_bytes(step_.tokens, step_.logits_rows, longest) +
                                             model->logits_bytes(step_.logits_rows))};
  }

  // The reference can run every problem that means something, and its workspace would be nobody's.
  void plan_what_nothing_runs(ParallelSize& size) const {
    try {
      plan(size, "reference");
      size.memory.workspace_bytes.reset();
    } catch (const Error& e) {
      if (e.code() == Errc::cancelled) throw;
      if (size.problems.empty()) size.problems.push_back(e.what());
    }
  }

  const FileSet& files_;
  const ModelReport& whole_;
  const LoadContext& each_;
  const StepSize& step_;
};

}  // namespace

std::vector<ParallelSize> tensor_parallel_sizes(const FileSet& files, const ModelReport& whole, const LoadContext& each,
                                                const StepSize& step) {
  const RankPlan plan(files, whole, each, step);
  std::vector<ParallelSize> sizes;
  for (std::int32_t ranks = 1; ranks <= kMostRanks; ranks *= 2) sizes.push_back(plan.of(ranks));
  return sizes;
}

std::vector<ParallelSize> expert_parallel_sizes(const ModelReport& whole, const RankMemory& one) {
  std::vector<ParallelSize> sizes;
  for (std::int32_t ranks = 1; ranks <= kMostRanks && !whole.experts.empty(); ranks *= 2) {
    ParallelSize& size = sizes.emplace_back(ParallelSize{ranks, {}, one});
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
