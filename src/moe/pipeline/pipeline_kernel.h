#pragma once
// The modular way to run experts, as a MoeKernel: Router -> Exchange -> Experts -> Exchange, joined by value.
#include <memory>
#include <string>
#include <utility>

#include "moe/backend.h"
#include "moe/pipeline/exchange.h"
#include "moe/pipeline/experts.h"
#include "moe/pipeline/router.h"

namespace conclave::moe {

class PipelineKernel final : public MoeKernel {
 public:
  PipelineKernel(const MoeProblem& problem, std::unique_ptr<Router> router, std::unique_ptr<Exchange> exchange,
                 std::unique_ptr<Experts> experts, double rounding = 0.0)
      : problem_(problem),
        router_(std::move(router)),
        exchange_(std::move(exchange)),
        experts_(std::move(experts)),
        rounding_(rounding) {}

  std::size_t workspace_bytes(std::int64_t tokens) const override {
    return routed_bytes(problem_, tokens) + exchange_->workspace_bytes(tokens) + experts_->workspace_bytes(tokens);
  }

  void run(const MoeCall& call, Workspace& workspace, Stream& stream) const noexcept override {
    const std::int64_t tokens = call.hidden.shape[0];
    if (tokens == 0) return;
    Workspace::Scope scope(workspace);
    const Routed routed = take_routed(problem_, tokens, workspace);
    router_->route(call, routed, stream);
    const Dispatched dispatched = exchange_->prepare(call.hidden, routed, workspace, stream);
    exchange_->finalize(experts_->run(dispatched, workspace, stream), routed, call.out, stream);
  }

  std::string describe() const override { return experts_->describe(); }
  double rounding() const noexcept override { return rounding_; }
  bool in_place() const noexcept override { return experts_->in_place(); }

 private:
  MoeProblem problem_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Experts> experts_;
  double rounding_;
};

}  // namespace conclave::moe
