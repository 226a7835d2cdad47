#include "nn/moe_layer.h"

#include <algorithm>

namespace conclave {
namespace {

std::size_t f32_bytes(std::int64_t elements) { return Workspace::padded(static_cast<std::size_t>(elements) * sizeof(float)); }

}  // namespace

std::size_t MoeLayer::workspace_bytes(const Ops& ops, std::int64_t tokens, std::int64_t max_context) const {
  const std::size_t routed = f32_bytes(tokens * parts_.router->rows()) +
                             std::max(parts_.router->workspace_bytes(tokens), parts_.experts->workspace_bytes(tokens));
  if (!parts_.shared) return routed;
  std::size_t shared = parts_.shared->workspace_bytes(ops, tokens, max_context);
  if (parts_.shared_gate) shared = std::max(shared, parts_.shared_gate->workspace_bytes(tokens));
  return std::max(routed, f32_bytes(tokens * parts_.router->cols()) + f32_bytes(tokens) + shared);
}

void MoeLayer::run(ConstTensorView x, const Step& step, TensorView out) const noexcept {
  const Forward& forward = step.forward;
  {
    Workspace::Scope scope(forward.workspace);
    const TensorView logits = forward.workspace.take(DType::f32, {x.shape[0], parts_.router->rows()});
    parts_.router->run(x, logits, forward.workspace, forward.stream);
    parts_.experts->run({x, logits, parts_.selection_bias.view, out}, forward.workspace, forward.stream);
  }
  if (parts_.shared) add_shared(x, forward, out);
}

void MoeLayer::add_shared(ConstTensorView x, const Forward& forward, TensorView out) const noexcept {
  Workspace::Scope scope(forward.workspace);
  const TensorView shared = forward.workspace.take(DType::f32, out.shape);
  parts_.shared->run(x, forward, shared);
  if (parts_.shared_gate) {
    const TensorView gate = forward.workspace.take(DType::f32, {x.shape[0], 1});
    parts_.shared_gate->run(x, gate, forward.workspace, forward.stream);
    forward.ops.scale_by_sigmoid(shared, gate, forward.stream);
  }
  forward.ops.add(out, shared, forward.stream);
}

}  // namespace conclave
