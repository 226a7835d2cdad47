#include <array>
#include <span>

#include "moe/pipeline/router.h"

namespace conclave::moe {
namespace {

class CpuRouter final : public Router {
 public:
  explicit CpuRouter(const MoeProblem& problem) : problem_(problem) {}

  void route(const MoeCall& call, const Routed& routed, Stream& stream) const noexcept override {
    const std::span<const float> bias =
        problem_.routing.selection_bias ? std::span(call.selection_bias.as<float>(), experts()) : std::span<const float>();
    pool_of(stream).for_each(call.router_logits.shape[0], [&](std::int64_t t, int) noexcept {
      const std::span ids(routed.ids.row<std::int32_t>(t), top_k());
      const std::span weights(routed.weights.row<float>(t), top_k());
      if (problem_.router_logits == DType::f32) {
        route_row(problem_.routing, {call.router_logits.row<float>(t), experts()}, bias, ids, weights);
      } else {
        std::array<float, kMaxExperts> logits;
        const bf16* from = call.router_logits.row<bf16>(t);
        for (std::size_t e = 0; e < experts(); ++e) logits[e] = from[e].to_float();
        route_row(problem_.routing, {logits.data(), experts()}, bias, ids, weights);
      }
    });
  }

 private:
  std::size_t experts() const { return static_cast<std::size_t>(problem_.experts); }
  std::size_t top_k() const { return static_cast<std::size_t>(problem_.top_k); }
  MoeProblem problem_;
};

}  // namespace

std::unique_ptr<Router> make_cpu_router(const MoeProblem& problem) { return std::make_unique<CpuRouter>(problem); }

}  // namespace conclave::moe
