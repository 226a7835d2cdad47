#include "nn/mamba2_mixer.h"

#include <algorithm>

namespace conclave {
namespace {

std::size_t f32_bytes(std::int64_t elements) { return Workspace::padded(static_cast<std::size_t>(elements) * sizeof(float)); }

// Columns [first, first + count) of [T, W].
template <class View>
View columns(View x, std::int64_t first, std::int64_t count) {
  x.data += first * size_of(x.dtype);
  x.shape = Shape{x.shape[0], count};
  return x;
}

// The same numbers as [T, heads, values].
TensorView by_heads(TensorView x, std::int64_t heads) {
  const std::int64_t values = x.shape[1] / heads;
  x.shape = Shape{x.shape[0], heads, values};
  x.stride = {x.stride[0], values, 1};
  return x;
}

ConstTensorView values_from(ConstTensorView vector, std::int64_t first, std::int64_t count) {
  vector.data += first * size_of(vector.dtype);
  vector.shape = Shape{count};
  return vector;
}

}  // namespace

std::size_t Mamba2Mixer::workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t) const {
  const Dims& d = parts_.dims;
  const std::size_t linears = std::max(parts_.in->workspace_bytes(tokens), parts_.out->workspace_bytes(tokens));
  return f32_bytes(tokens * d.projected()) + f32_bytes(tokens * d.inner()) +
         std::max(linears, f32_bytes(tokens * d.conv_channels()));
}

void Mamba2Mixer::run(ConstTensorView x, const Step& step, TensorView out) const noexcept {
  const auto& [ops, stream, workspace] = step.forward;
  const Dims& d = parts_.dims;
  Workspace::Scope scope(workspace);
  const TensorView projected = workspace.take(DType::f32, {x.shape[0], d.projected()});
  const TensorView y = workspace.take(DType::f32, {x.shape[0], d.inner()});
  parts_.in->run(x, projected, workspace, stream);
  scan(projected, step, y);
  ops.activate(Elementwise::silu, columns(projected, 0, d.inner()), y, y, stream);
  normalise(y, step.forward);
  parts_.out->run(y, out, workspace, stream);
}

void Mamba2Mixer::scan(TensorView projected, const Step& step, TensorView out) const noexcept {
  const auto& [ops, stream, workspace] = step.forward;
  const Dims& d = parts_.dims;
  Workspace::Scope scope(workspace);
  const RecurrentState memory = step.cache.recurrent_layer(parts_.cache_layer);
  const ConstTensorView weight(parts_.conv_weight.view.data, DType::f32, {d.conv_channels(), d.conv_width});
  const TensorView mixed = workspace.take(DType::f32, {projected.shape[0], d.conv_channels()});
  ops.causal_conv(columns(projected, d.inner(), d.conv_channels()), weight, parts_.conv_bias.view, step.batch, memory.history,
                  mixed, stream);
  ops.activate(Elementwise::silu, {}, mixed, mixed, stream);
  const SelectiveScan selective{.x = by_heads(columns(mixed, 0, d.inner()), d.heads),
                                .b = by_heads(columns(mixed, d.inner(), d.group_states()), d.groups),
                                .c = by_heads(columns(mixed, d.inner() + d.group_states(), d.group_states()), d.groups),
                                .dt = columns(projected, d.inner() + d.conv_channels(), d.heads),
                                .a_log = parts_.a_log.view,
                                .dt_bias = parts_.dt_bias.view,
                                .d = parts_.d.view};
  ops.selective_scan(selective, step.batch, memory.state, by_heads(out, d.heads), stream);
}

void Mamba2Mixer::normalise(TensorView y, const Forward& forward) const noexcept {
  const std::int64_t width = parts_.dims.inner() / parts_.dims.groups;
  for (std::int64_t first = 0; first < parts_.dims.inner(); first += width) {
    const TensorView group = columns(y, first, width);
    forward.ops.rms_norm(group, values_from(parts_.norm.view, first, width), parts_.norm_eps, group, forward.stream);
  }
}

RecurrentSpec recurrent_spec(const Mamba2Mixer::Dims& d) {
  return {.layers = 0,
          .history_rows = d.conv_width - 1,
          .history_channels = static_cast<std::int32_t>(d.conv_channels()),
          .heads = d.heads,
          .head_dim = d.head_dim,
          .state_size = d.state_size};
}

}  // namespace conclave
