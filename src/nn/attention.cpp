#include "nn/attention.h"

#include <algorithm>
#include <cmath>

namespace conclave {

std::size_t Attention::workspace_bytes(const Ops& ops, std::int64_t tokens, std::int64_t max_context) const {
  const AttentionSpec& s = parts_.spec;
  const auto activations = [&](std::int64_t heads) {
    return Workspace::padded(static_cast<std::size_t>(tokens * heads * s.head_dim) * sizeof(float));
  };
  const std::size_t inner =
      std::max({parts_.q->workspace_bytes(tokens), parts_.k->workspace_bytes(tokens), parts_.v->workspace_bytes(tokens),
                parts_.o->workspace_bytes(tokens), ops.attention_workspace_bytes(s, tokens, max_context)}) +
      Workspace::padded(static_cast<std::size_t>(tokens) * sizeof(float));
  return 2 * activations(s.heads) + 2 * activations(s.kv_heads) + inner;
}

void Attention::run(ConstTensorView x, const Step& step, TensorView out) const noexcept {
  const Ops& ops = step.forward.ops;
  Stream& stream = step.forward.stream;
  Workspace& workspace = step.forward.workspace;
  AttentionSpec s = parts_.spec;
  if (parts_.sinks.view) s.sinks = {parts_.sinks.view.as<float>(), static_cast<std::size_t>(s.heads)};
  const std::int64_t tokens = x.shape[0];
  Workspace::Scope scope(workspace);
  const auto linear = [&](const Linear& map, std::int32_t heads) {
    const TensorView y = workspace.take(DType::f32, {tokens, heads, s.head_dim});
    map.run(x, TensorView(y.data, y.dtype, {tokens, map.rows()}), workspace, stream);
    return y;
  };
  const TensorView q = linear(*parts_.q, s.heads);
  const TensorView k = linear(*parts_.k, s.kv_heads);
  const TensorView v = linear(*parts_.v, s.kv_heads);
  if (parts_.qk_norm != QkNorm::after_rope) {
    normalise(q, parts_.q_norm, step.forward);
    normalise(k, parts_.k_norm, step.forward);
  }
  turn(q, k, step);
  if (parts_.temperature.scale != 0) apply_temperature(q, step);
  const PagedKv cache = step.cache.layer(parts_.cache_layer);
  ops.write_kv(k, v, step.batch, cache, stream);
  const TensorView mixed = workspace.take(DType::f32, {tokens, s.heads, s.head_dim});
  ops.attention(q, cache, step.batch, s, mixed, workspace, stream);
  parts_.o->run(TensorView(mixed.data, mixed.dtype, {tokens, parts_.o->cols()}), out, workspace, stream);
}

void Attention::turn(TensorView q, TensorView k, const Step& step) const noexcept {
  if (parts_.rope.inv_freq.empty()) return;
  const Rope rope{parts_.spec.head_dim, static_cast<int>(2 * parts_.rope.inv_freq.size()), parts_.rope_interleaved,
                  parts_.rope.inv_freq, parts_.rope.magnitude};
  for (const TensorView& x : {q, k}) {
    step.forward.ops.rope(x, step.batch.positions, rope, step.forward.stream);
    if (parts_.qk_norm == QkNorm::after_rope) step.forward.ops.rms_norm(x, {}, parts_.norm_eps, x, step.forward.stream);
  }
}

void Attention::apply_temperature(TensorView q, const Step& step) const noexcept {
  Workspace::Scope scope(step.forward.workspace);
  const std::span<const std::int32_t> positions = step.batch.positions;
  float* const factors = step.forward.workspace.take<float>(static_cast<std::int64_t>(positions.size()));
  for (std::size_t t = 0; t < positions.size(); ++t) {
    const float periods = std::floor((static_cast<float>(positions[t]) + 1.0f) / parts_.temperature.floor_scale);
    factors[t] = 1.0f + parts_.temperature.scale * std::log(periods + 1.0f);
  }
  step.forward.ops.scale_rows(q, {factors, positions.size()}, step.forward.stream);
}

void Attention::normalise(TensorView x, const Parameter& weight, const Forward& forward) const noexcept {
  if (parts_.qk_norm == QkNorm::none) return;
  if (parts_.qk_norm == QkNorm::full) x = TensorView(x.data, x.dtype, {x.shape[0], x.shape[1] * x.shape[2]});
  forward.ops.rms_norm(x, weight.view, parts_.norm_eps, x, forward.stream);
}

}  // namespace conclave
