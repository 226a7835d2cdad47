#include "nn/mlp.h"

#include <algorithm>

namespace conclave {

std::size_t Mlp::workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t) const {
  const std::size_t inner = Workspace::padded(static_cast<std::size_t>(tokens * parts_.up->rows()) * sizeof(float));
  std::size_t linears = std::max(parts_.up->workspace_bytes(tokens), parts_.down->workspace_bytes(tokens));
  if (parts_.gate) linears = std::max(linears, parts_.gate->workspace_bytes(tokens));
  return (parts_.gate ? 2 : 1) * inner + linears;
}

void Mlp::run(ConstTensorView x, const Forward& forward, TensorView out) const noexcept {
  const auto& [ops, stream, workspace] = forward;
  Workspace::Scope scope(workspace);
  const Shape inner{x.shape[0], parts_.up->rows()};
  const TensorView up = workspace.take(DType::f32, inner);
  parts_.up->run(x, up, workspace, stream);
  ConstTensorView gate;
  if (parts_.gate) {
    const TensorView y = workspace.take(DType::f32, inner);
    parts_.gate->run(x, y, workspace, stream);
    gate = y;
  }
  ops.activate(parts_.activation, gate, up, up, stream);
  parts_.down->run(up, out, workspace, stream);
}

}  // namespace conclave
