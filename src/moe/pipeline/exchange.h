#pragma once
// Second and last part of the pipeline: brings tokens to the experts, and the experts' answers back to the tokens.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/caps.h"
#include "device/stream.h"
#include "device/workspace.h"
#include "moe/pipeline/experts.h"
#include "moe/pipeline/router.h"

namespace conclave::moe {

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::size_t workspace_bytes(std::int64_t tokens) const = 0;
  // What prepare() takes from the workspace lives as long as the caller's Scope.
  virtual Dispatched prepare(ConstTensorView hidden, const Routed&, Workspace&, Stream&) const noexcept = 0;
  // out [T, H], overwritten: the weighted sum of a token's rows, in the order of its slots.
  virtual void finalize(const ExpertRows&, const Routed&, TensorView out, Stream&) const noexcept = 0;
};

// One process holds the tokens and the experts: nothing moves. Weights that belong on the input are applied by prepare(), so that
// experts never see them. Float32 on a CPU.
std::unique_ptr<Exchange> make_local_exchange(const MoeProblem&, const DeviceCaps&);

}  // namespace conclave::moe
