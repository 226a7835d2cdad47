#include "nn/latent_attention.h"

#include <algorithm>

#include "quant/codec.h"

namespace conclave {
namespace {

std::size_t f32_bytes(std::int64_t elements) { return Workspace::padded(static_cast<std::size_t>(elements) * sizeof(float)); }

// Dimensions [first, first + count) of every head; x [T, heads, D].
TensorView dims_of(TensorView x, std::int64_t first, std::int64_t count) {
  x.data += first * x.stride[2] * size_of(x.dtype);
  x.shape = Shape{x.shape[0], x.shape[1], count};
  return x;
}

// One head as rows: [T, D].
TensorView head_of(TensorView x, std::int64_t head) {
  TensorView out = x;
  out.data += head * x.stride[1] * size_of(x.dtype);
  out.shape = Shape{x.shape[0], x.shape[2]};
  out.stride = {x.stride[0], x.stride[2]};
  return out;
}

QuantMatrix plain_matrix(const std::vector<float>& values, std::int64_t rows, std::int64_t cols) {
  QuantMatrix m;
  m.scheme = kF32;
  m.rows = rows;
  m.cols = cols;
  m.codes = ConstTensorView(reinterpret_cast<const std::byte*>(values.data()), DType::f32, {rows, cols});
  return m;
}

}  // namespace

// The absorbed matrices are float32: what a quantised kv_b decodes to fits nothing narrower without a new rounding.
void LatentAttention::set_up_projection(const QuantMatrix& kv_b, const Ops& ops) {
  const std::int64_t heads = parts_.dims.heads, nope = parts_.dims.nope_dim, value = parts_.dims.value_dim,
                     latent = parts_.dims.latent;
  const Codec& codec = codec_for(kv_b.scheme);
  std::vector<float> row(static_cast<std::size_t>(latent));
  for (std::int64_t h = 0; h < heads; ++h) {
    std::vector<float> key(static_cast<std::size_t>(latent) * static_cast<std::size_t>(nope));
    for (std::int64_t n = 0; n < nope; ++n) {
      codec.decode_row(kv_b, h * (nope + value) + n, row);
      for (std::int64_t l = 0; l < latent; ++l) key[static_cast<std::size_t>(l * nope + n)] = row[static_cast<std::size_t>(l)];
    }
    std::vector<float> values(static_cast<std::size_t>(value) * static_cast<std::size_t>(latent));
    for (std::int64_t v = 0; v < value; ++v)
      codec.decode_row(kv_b, h * (nope + value) + nope + v,
                       std::span(values).subspan(static_cast<std::size_t>(v * latent), row.size()));
    up_projections_.push_back(std::move(key));
    parts_.absorb_key.push_back(ops.make_linear(plain_matrix(up_projections_.back(), latent, nope), {}));
    up_projections_.push_back(std::move(values));
    parts_.expand_value.push_back(ops.make_linear(plain_matrix(up_projections_.back(), value, latent), {}));
  }
}

AttentionSpec LatentAttention::spec() const {
  AttentionSpec s;
  s.heads = parts_.dims.heads;
  s.kv_heads = 1;
  s.head_dim = cached();
  s.scale = parts_.scale;
  s.value_dim = parts_.dims.latent;
  return s;
}

std::size_t LatentAttention::workspace_bytes(const Ops& ops, std::int64_t tokens, std::int64_t max_context) const {
  const Dims& s = parts_.dims;
  std::size_t linears =
      std::max({parts_.q->workspace_bytes(tokens), parts_.kv_a->workspace_bytes(tokens), parts_.o->workspace_bytes(tokens),
                parts_.absorb_key[0]->workspace_bytes(tokens), parts_.expand_value[0]->workspace_bytes(tokens)});
  if (parts_.q_a) linears = std::max(linears, parts_.q_a->workspace_bytes(tokens));
  const std::int64_t q_rank = parts_.q_a ? parts_.q_a->rows() : 0;
  const std::size_t query =
      f32_bytes(tokens * s.heads * cached()) + f32_bytes(tokens * q_rank) + f32_bytes(tokens * s.heads * (s.nope_dim + s.rope_dim));
  return query + f32_bytes(tokens * cached()) + f32_bytes(tokens * s.heads * s.latent) + f32_bytes(tokens * s.heads * s.value_dim) +
         std::max(linears, ops.attention_workspace_bytes(spec(), tokens, max_context));
}

void LatentAttention::run(ConstTensorView x, const Step& step, TensorView out) const noexcept {
  const Forward& f = step.forward;
  const Dims& s = parts_.dims;
  const std::int64_t tokens = x.shape[0];
  Workspace::Scope scope(f.workspace);
  const TensorView q = queries(x, step);
  const PagedKv cache = step.cache.layer(parts_.cache_layer);
  f.ops.write_kv(keys(x, step), {}, step.batch, cache, f.stream);
  const TensorView mixed = f.workspace.take(DType::f32, {tokens, s.heads, s.latent});
  f.ops.attention(q, cache, step.batch, spec(), mixed, f.workspace, f.stream);
  const TensorView values = f.workspace.take(DType::f32, {tokens, s.heads, s.value_dim});
  for (std::int64_t h = 0; h < s.heads; ++h)
    parts_.expand_value[static_cast<std::size_t>(h)]->run(head_of(mixed, h), head_of(values, h), f.workspace, f.stream);
  parts_.o->run(TensorView(values.data, values.dtype, {tokens, parts_.o->cols()}), out, f.workspace, f.stream);
}

// [T, heads, latent + rope]: what is to be compared with the cache.
TensorView LatentAttention::queries(ConstTensorView x, const Step& step) const noexcept {
  const Forward& f = step.forward;
  const Dims& s = parts_.dims;
  const std::int64_t tokens = x.shape[0];
  const TensorView absorbed = f.workspace.take(DType::f32, {tokens, s.heads, cached()});
  if (parts_.q_a) {
    const TensorView low = f.workspace.take(DType::f32, {tokens, parts_.q_a->rows()});
    parts_.q_a->run(x, low, f.workspace, f.stream);
    f.ops.rms_norm(low, parts_.q_norm.view, parts_.norm_eps, low, f.stream);
    x = low;
  }
  const TensorView q = f.workspace.take(DType::f32, {tokens, s.heads, s.nope_dim + s.rope_dim});
  parts_.q->run(x, TensorView(q.data, q.dtype, {tokens, parts_.q->rows()}), f.workspace, f.stream);
  turn(q, s.nope_dim, step);
  for (std::int64_t h = 0; h < s.heads; ++h) {
    parts_.absorb_key[static_cast<std::size_t>(h)]->run(head_of(dims_of(q, 0, s.nope_dim), h),
                                                        head_of(dims_of(absorbed, 0, s.latent), h), f.workspace, f.stream);
    f.ops.copy_rows(head_of(dims_of(q, s.nope_dim, s.rope_dim), h), head_of(dims_of(absorbed, s.latent, s.rope_dim), h), f.stream);
  }
  return absorbed;
}

// [T, 1, latent + rope]: normed latent and turned key, as the cache holds them.
TensorView LatentAttention::keys(ConstTensorView x, const Step& step) const noexcept {
  const Forward& f = step.forward;
  const TensorView k = f.workspace.take(DType::f32, {x.shape[0], 1, cached()});
  parts_.kv_a->run(x, TensorView(k.data, k.dtype, {x.shape[0], cached()}), f.workspace, f.stream);
  const TensorView latent = head_of(dims_of(k, 0, parts_.dims.latent), 0);
  f.ops.rms_norm(latent, parts_.kv_norm.view, parts_.norm_eps, latent, f.stream);
  turn(k, parts_.dims.latent, step);
  return k;
}

// The rotary part of every head begins at dimension `first`.
void LatentAttention::turn(TensorView heads, std::int64_t first, const Step& step) const noexcept {
  const Rope rope{parts_.dims.rope_dim, parts_.dims.rope_dim, parts_.rope_interleaved, parts_.rope.inv_freq, parts_.rope.magnitude};
  step.forward.ops.rope(dims_of(heads, first, parts_.dims.rope_dim), step.batch.positions, rope, step.forward.stream);
}

}  // namespace conclave
