#pragma once
// First part of the pipeline: which experts a token goes to, and with what weight.
#include <cstdint>
#include <memory>

#include "device/stream.h"
#include "device/workspace.h"
#include "moe/backend.h"

namespace conclave::moe {

struct Routed {
  TensorView ids;      // i32 [T, K], experts of the model, best first
  TensorView weights;  // f32 [T, K], final multipliers
};
// Room for the choices of so many tokens.
inline Routed take_routed(const MoeProblem& p, std::int64_t tokens, Workspace& workspace) {
  return {workspace.take(DType::i32, {tokens, p.top_k}), workspace.take(DType::f32, {tokens, p.top_k})};
}
inline std::size_t routed_bytes(const MoeProblem& p, std::int64_t tokens) {
  return 2 * Workspace::padded(static_cast<std::size_t>(tokens * p.top_k) * 4);
}

class Router {
 public:
  virtual ~Router() = default;
  virtual void route(const MoeCall&, const Routed&, Stream&) const noexcept = 0;
};

// route_row() for every token, in parallel; logits f32 or bf16.
std::unique_ptr<Router> make_cpu_router(const MoeProblem&);

}  // namespace conclave::moe
