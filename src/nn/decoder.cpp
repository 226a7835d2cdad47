#include "nn/decoder.h"

#include <algorithm>

namespace conclave {
namespace {

std::size_t f32_bytes(std::int64_t elements) { return Workspace::padded(static_cast<std::size_t>(elements) * sizeof(float)); }

}  // namespace

std::size_t Decoder::workspace_bytes(const Ops& ops, std::int64_t tokens, std::int64_t logits_rows,
                                     std::int64_t max_context) const {
  std::size_t inner = f32_bytes(logits_rows * parts_.embedding.cols) + parts_.head->workspace_bytes(logits_rows);
  for (const ResidualBlock& b : parts_.blocks) inner = std::max(inner, b.block->workspace_bytes(ops, tokens, max_context));
  return 3 * f32_bytes(tokens * parts_.embedding.cols) + inner;
}

void Decoder::forward(const Batch& batch, KvCache& cache, const Forward& forward, TensorView logits) const noexcept {
  const auto& [ops, stream, workspace] = forward;
  Workspace::Scope scope(workspace);
  const Shape rows{static_cast<std::int64_t>(batch.tokens.size()), parts_.embedding.cols};
  const TensorView x = workspace.take(DType::f32, rows);  // the residual stream
  const TensorView normed = workspace.take(DType::f32, rows);
  const TensorView update = workspace.take(DType::f32, rows);
  const Step step{batch, cache, forward};

  ops.embed(parts_.embedding, batch.tokens, x, stream);
  for (const ResidualBlock& b : parts_.blocks) {
    ops.rms_norm(x, b.norm.view, parts_.norm_eps, normed, stream);
    b.block->run(normed, step, update);
    ops.add(x, update, stream);
  }
  if (batch.logits_rows.empty()) return;
  const TensorView last = workspace.take(DType::f32, {static_cast<std::int64_t>(batch.logits_rows.size()), parts_.embedding.cols});
  ops.gather_rows(x, batch.logits_rows, last, stream);
  ops.rms_norm(last, parts_.final_norm.view, parts_.norm_eps, last, stream);
  parts_.head->run(last, logits, workspace, stream);
}

}  // namespace conclave
