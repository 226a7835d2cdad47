#include <algorithm>

#include "base/math.h"
#include "kernels/cpu/dispatch.h"
#include "moe/pipeline/exchange.h"

namespace conclave::moe {
namespace {

// Columns of one task of finalize(): enough to pay for the task, and few enough that one long token occupies several threads.
constexpr std::int64_t kColumns = 2048;

class LocalExchange final : public Exchange {
 public:
  LocalExchange(const MoeProblem& problem, const KernelTable& kernels) : problem_(problem), kernels_(kernels) {}

  std::size_t workspace_bytes(std::int64_t tokens) const override {
    const auto ids = static_cast<std::size_t>(tokens * problem_.top_k) * sizeof(std::int32_t);
    const auto weighted = static_cast<std::size_t>(tokens * problem_.hidden) * sizeof(float);
    return Workspace::padded(ids) + (problem_.routing.weight_on_input ? Workspace::padded(weighted) : 0);
  }

  Dispatched prepare(ConstTensorView hidden, const Routed& routed, Workspace& workspace, Stream& stream) const noexcept override {
    const TensorView local = workspace.take(DType::i32, routed.ids.shape);
    const std::int32_t* ids = routed.ids.as<std::int32_t>();
    std::transform(ids, ids + routed.ids.shape.elements(), local.as<std::int32_t>(), [&](std::int32_t id) {
      const std::int64_t index = std::int64_t{id} - problem_.local_first;
      return index >= 0 && index < problem_.local_count ? static_cast<std::int32_t>(index) : -1;
    });
    if (!problem_.routing.weight_on_input) return {hidden, local};

    const TensorView weighted = workspace.take(DType::f32, hidden.shape);
    pool_of(stream).for_each(hidden.shape[0], [&](std::int64_t t, int) noexcept {
      const float weight = routed.weights.row<float>(t)[0];
      std::transform(hidden.row<float>(t), hidden.row<float>(t) + problem_.hidden, weighted.row<float>(t),
                     [&](float x) { return x * weight; });
    });
    return {weighted, local};
  }

  void finalize(const ExpertRows& answers, const Routed& routed, TensorView out, Stream& stream) const noexcept override {
    const std::int64_t parts = ceil_div<std::int64_t>(problem_.hidden, kColumns);
    pool_of(stream).for_each(out.shape[0] * parts, [&](std::int64_t task, int) noexcept {
      const std::int64_t t = task / parts, begin = task % parts * kColumns;
      const std::int64_t columns = std::min(kColumns, problem_.hidden - begin);
      float* sum = out.row<float>(t) + begin;
      std::fill_n(sum, columns, 0.0f);
      for (std::int64_t slot = 0; slot < problem_.top_k; ++slot) {
        const std::int32_t row = answers.row_of.row<std::int32_t>(t)[slot];
        if (row < 0) continue;
        const float weight = problem_.routing.weight_on_input ? 1.0f : routed.weights.row<float>(t)[slot];
        kernels_.axpy(sum, weight, answers.rows.row<float>(row) + begin, columns);
      }
    });
  }

 private:
  MoeProblem problem_;
  const KernelTable& kernels_;
};

}  // namespace

std::unique_ptr<Exchange> make_local_exchange(const MoeProblem& problem, const DeviceCaps& caps) {
  return std::make_unique<LocalExchange>(problem, kernel_table(caps.isa));
}

}  // namespace conclave::moe
