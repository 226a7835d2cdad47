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

// [T, D] as one head.
TensorView as_head(TensorView x) {
  x.shape = Shape{x.shape[0], 1, x.shape[1]};
  x.stride = {x.stride[0], x.shape[2], 1};
  return x;
}

QuantMatrix plain_matrix(const float* values, std::int64_t rows, std::int64_t cols) {
  QuantMatrix m;
  m.scheme = kF32;
  m.rows = rows;
  m.cols = cols;
  m.codes = ConstTensorView(reinterpret_cast<const std::byte*>(values), DType::f32, {rows, cols});
  return m;
}

// Tokens of the context that are expanded at a time: their latents stay in a cache of the processor.
constexpr std::int64_t kExpandedTokens = 256;

}  // namespace

// The matrices are float32: what a quantised kv_b decodes to fits nothing narrower without a new rounding.
void LatentAttention::set_up_projection(const QuantMatrix& kv_b, const Ops& ops) {
  const std::int64_t heads = parts_.dims.heads, nope = parts_.dims.nope_dim, value = parts_.dims.value_dim,
                     latent = parts_.dims.latent;
  const Codec& codec = codec_for(kv_b.scheme);
  for (std::int64_t h = 0; h < heads; ++h) {
    std::vector<float> up(static_cast<std::size_t>((nope + value) * latent));
    for (std::int64_t r = 0; r < nope + value; ++r)
      codec.decode_row(kv_b, h * (nope + value) + r,
                       std::span(up).subspan(static_cast<std::size_t>(r * latent), static_cast<std::size_t>(latent)));
    std::vector<float> key(static_cast<std::size_t>(latent * nope));
    for (std::int64_t n = 0; n < nope; ++n)
      for (std::int64_t l = 0; l < latent; ++l)
        key[static_cast<std::size_t>(l * nope + n)] = up[static_cast<std::size_t>(n * latent + l)];
    parts_.expand_key.push_back(ops.make_linear(plain_matrix(up.data(), nope, latent), {}));
    parts_.expand_value.push_back(ops.make_linear(plain_matrix(up.data() + nope * latent, value, latent), {}));
    parts_.absorb_key.push_back(ops.make_linear(plain_matrix(key.data(), latent, nope), {}));
    up_projections_.push_back(std::move(up));
    up_projections_.push_back(std::move(key));
  }
}

bool LatentAttention::expands(const Dims& d, std::int64_t rows, std::int64_t context) {
  const auto pairs = static_cast<double>(rows) * static_cast<double>(2 * context - rows + 1) / 2;
  const double projection = static_cast<double>(d.latent) * (d.nope_dim + d.value_dim);
  const double absorbed = pairs * (2.0 * d.latent + d.rope_dim) + static_cast<double>(rows) * projection;
  const double expanded = pairs * (d.expanded_key() + d.value_dim) + static_cast<double>(context) * projection;
  return rows > 1 && expanded < absorbed;
}

bool LatentAttention::expands(const SequenceRows& s) const noexcept {
  if (parts_.form == Form::cheaper) return expands(parts_.dims, s.rows, s.context);
  return parts_.form == Form::expanded;
}

// The longest context of which so many tokens or fewer are ever expanded; 0: none. More rows make expanding cheaper, and a context
// longer than another dearer or, where the rows are many enough, never.
std::int64_t LatentAttention::longest_expanded(std::int64_t tokens, std::int64_t max_context) const {
  const std::int64_t rows = std::min(tokens, max_context);
  const auto fits = [&](std::int64_t context) {
    return parts_.form == Form::expanded || (parts_.form == Form::cheaper && expands(parts_.dims, rows, context));
  };
  if (!fits(rows)) return 0;
  std::int64_t fitting = rows, beyond = max_context + 1;
  while (beyond - fitting > 1) {
    const std::int64_t middle = fitting + (beyond - fitting) / 2;
    (fits(middle) ? fitting : beyond) = middle;
  }
  return fitting;
}

AttentionSpec LatentAttention::absorbed_spec() const {
  AttentionSpec s;
  s.heads = parts_.dims.heads;
  s.kv_heads = 1;
  s.head_dim = parts_.dims.absorbed_key();
  s.scale = parts_.scale;
  s.value_dim = parts_.dims.latent;
  return s;
}

AttentionSpec LatentAttention::expanded_spec() const {
  AttentionSpec s;
  s.heads = s.kv_heads = 1;
  s.head_dim = parts_.dims.expanded_key();
  s.scale = parts_.scale;
  s.value_dim = parts_.dims.value_dim;
  return s;
}

std::size_t LatentAttention::absorbed_bytes(const Ops& ops, std::int64_t tokens, std::int64_t max_context) const {
  const Dims& d = parts_.dims;
  if (parts_.form == Form::expanded) return 0;
  return f32_bytes(tokens * d.heads * d.absorbed_key()) + f32_bytes(tokens * d.heads * d.latent) +
         std::max({ops.linear_workspace_bytes(kF32, d.nope_dim, tokens), ops.linear_workspace_bytes(kF32, d.latent, tokens),
                   ops.attention_workspace_bytes(absorbed_spec(), tokens, max_context)});
}

std::size_t LatentAttention::expanded_bytes(const Ops& ops, std::int64_t tokens, std::int64_t max_context) const {
  const Dims& d = parts_.dims;
  const std::int64_t context = longest_expanded(tokens, max_context), block = std::min(context, kExpandedTokens);
  if (context == 0) return 0;
  const std::size_t expanding = f32_bytes(block * d.absorbed_key()) + ops.linear_workspace_bytes(kF32, d.latent, block);
  return f32_bytes(context * d.expanded_key()) + f32_bytes(context * d.value_dim) +
         std::max(expanding, ops.attention_workspace_bytes(expanded_spec(), std::min(tokens, context), context));
}

std::size_t LatentAttention::workspace_bytes(const Ops& ops, std::int64_t tokens, std::int64_t max_context) const {
  const Dims& d = parts_.dims;
  const std::size_t low = parts_.q_a ? f32_bytes(tokens * parts_.q_a->rows()) +
                                           std::max(parts_.q_a->workspace_bytes(tokens), parts_.q->workspace_bytes(tokens))
                                     : parts_.q->workspace_bytes(tokens);
  const std::size_t key = f32_bytes(tokens * d.absorbed_key()) + parts_.kv_a->workspace_bytes(tokens);
  return f32_bytes(tokens * d.heads * d.expanded_key()) + f32_bytes(tokens * d.heads * d.value_dim) +
         std::max({low, key, absorbed_bytes(ops, tokens, max_context), expanded_bytes(ops, tokens, max_context),
                   parts_.o->workspace_bytes(tokens)});
}

void LatentAttention::run(ConstTensorView x, const Step& step, TensorView out) const noexcept {
  const Forward& f = step.forward;
  const std::int64_t tokens = x.shape[0];
  Workspace::Scope scope(f.workspace);
  const TensorView q = queries(x, step);
  const PagedKv cache = step.cache.layer(parts_.cache_layer);
  write_keys(x, step, cache);
  const TensorView values = f.workspace.take(DType::f32, {tokens, parts_.dims.heads, parts_.dims.value_dim});
  const std::span<const SequenceRows> all = step.batch.sequences;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    end = begin + 1;
    if (expands(all[begin])) {
      attend_expanded(q, all[begin], cache, f, values);
      continue;
    }
    while (end < all.size() && !expands(all[end])) ++end;
    Batch batch = step.batch;
    batch.sequences = all.subspan(begin, end - begin);
    attend_absorbed(q, batch, cache, f, values);
  }
  parts_.o->run(TensorView(values.data, values.dtype, {tokens, parts_.o->cols()}), out, f.workspace, f.stream);
}

// [T, heads, nope + rope], turned.
TensorView LatentAttention::queries(ConstTensorView x, const Step& step) const noexcept {
  const Forward& f = step.forward;
  const TensorView q = f.workspace.take(DType::f32, {x.shape[0], parts_.dims.heads, parts_.dims.expanded_key()});
  Workspace::Scope scope(f.workspace);
  if (parts_.q_a) {
    const TensorView low = f.workspace.take(DType::f32, {x.shape[0], parts_.q_a->rows()});
    parts_.q_a->run(x, low, f.workspace, f.stream);
    f.ops.rms_norm(low, parts_.q_norm.view, parts_.norm_eps, low, f.stream);
    x = low;
  }
  parts_.q->run(x, TensorView(q.data, q.dtype, {q.shape[0], parts_.q->rows()}), f.workspace, f.stream);
  turn(q, parts_.dims.nope_dim, step);
  return q;
}

// Normed latents and turned keys.
void LatentAttention::write_keys(ConstTensorView x, const Step& step, const PagedKv& cache) const noexcept {
  const Forward& f = step.forward;
  Workspace::Scope scope(f.workspace);
  const std::int64_t width = parts_.dims.absorbed_key();
  const TensorView k = f.workspace.take(DType::f32, {x.shape[0], 1, width});
  parts_.kv_a->run(x, TensorView(k.data, k.dtype, {x.shape[0], width}), f.workspace, f.stream);
  const TensorView latent = head_of(dims_of(k, 0, parts_.dims.latent), 0);
  f.ops.rms_norm(latent, parts_.kv_norm.view, parts_.norm_eps, latent, f.stream);
  turn(k, parts_.dims.latent, step);
  f.ops.write_kv(k, {}, step.batch, cache, f.stream);
}

// The rows of the batch's sequences, which follow one another: q [T, heads, nope + rope] -> out [T, heads, value_dim].
void LatentAttention::attend_absorbed(TensorView q, const Batch& batch, const PagedKv& cache, const Forward& f,
                                      TensorView out) const noexcept {
  const Dims& d = parts_.dims;
  Workspace::Scope scope(f.workspace);
  const TensorView absorbed = f.workspace.take(DType::f32, {q.shape[0], d.heads, d.absorbed_key()});
  const TensorView mixed = f.workspace.take(DType::f32, {q.shape[0], d.heads, d.latent});
  const std::int64_t first = batch.sequences.front().first_row;
  const std::int64_t rows = batch.sequences.back().first_row + batch.sequences.back().rows - first;
  const auto part = [&](TensorView x, std::int64_t from, std::int64_t count, std::int64_t head) {
    return head_of(dims_of(x.rows(first, rows), from, count), head);
  };
  for (std::int64_t h = 0; h < d.heads; ++h) {
    parts_.absorb_key[static_cast<std::size_t>(h)]->run(part(q, 0, d.nope_dim, h), part(absorbed, 0, d.latent, h), f.workspace,
                                                        f.stream);
    f.ops.copy_rows(part(q, d.nope_dim, d.rope_dim, h), part(absorbed, d.latent, d.rope_dim, h), f.stream);
  }
  f.ops.attention(absorbed, cache, batch, absorbed_spec(), mixed, f.workspace, f.stream);
  for (std::int64_t h = 0; h < d.heads; ++h)
    parts_.expand_value[static_cast<std::size_t>(h)]->run(part(mixed, 0, d.latent, h), part(out, 0, d.value_dim, h), f.workspace,
                                                          f.stream);
}

// The same for one sequence. What a head sees lies in the workspace as if in a cache of one page.
void LatentAttention::attend_expanded(TensorView q, const SequenceRows& sequence, const PagedKv& cache, const Forward& f,
                                      TensorView out) const noexcept {
  const Dims& d = parts_.dims;
  Workspace::Scope scope(f.workspace);
  const std::int64_t context = sequence.context;
  const PagedKv own{f.workspace.take(DType::f32, {1, context, 1, d.expanded_key()}),
                    f.workspace.take(DType::f32, {1, context, 1, d.value_dim}), sequence.context};
  constexpr std::int32_t kPage = 0;
  SequenceRows rows = sequence;
  rows.pages = {&kPage, 1};
  Batch batch;
  batch.sequences = {&rows, 1};
  for (std::int64_t h = 0; h < d.heads; ++h) {
    expand(static_cast<std::size_t>(h), sequence, cache, own, f);
    f.ops.attention(as_head(head_of(q, h)), own, batch, expanded_spec(), as_head(head_of(out, h)), f.workspace, f.stream);
  }
}

// Keys and values of one head for the whole context of the sequence.
void LatentAttention::expand(std::size_t head, const SequenceRows& sequence, const PagedKv& cache, const PagedKv& to,
                             const Forward& f) const noexcept {
  const Dims& d = parts_.dims;
  Workspace::Scope scope(f.workspace);
  const std::int64_t context = sequence.context;
  const TensorView block = f.workspace.take(DType::f32, {std::min(context, kExpandedTokens), 1, d.absorbed_key()});
  const TensorView keys(to.k.data, DType::f32, {context, 1, d.expanded_key()});
  const TensorView values(to.v.data, DType::f32, {context, d.value_dim});
  for (std::int64_t first = 0; first < context; first += kExpandedTokens) {
    const std::int64_t count = std::min(kExpandedTokens, context - first);
    const TensorView cached = block.rows(0, count), key = keys.rows(first, count);
    f.ops.read_keys(cache, sequence.pages, first, cached, f.stream);
    const TensorView latents = head_of(dims_of(cached, 0, d.latent), 0);
    parts_.expand_key[head]->run(latents, head_of(dims_of(key, 0, d.nope_dim), 0), f.workspace, f.stream);
    parts_.expand_value[head]->run(latents, values.rows(first, count), f.workspace, f.stream);
    f.ops.copy_rows(head_of(dims_of(cached, d.latent, d.rope_dim), 0), head_of(dims_of(key, d.nope_dim, d.rope_dim), 0), f.stream);
  }
}

// The rotary part of every head begins at dimension `first`.
void LatentAttention::turn(TensorView heads, std::int64_t first, const Step& step) const noexcept {
  const Rope rope{parts_.dims.rope_dim, parts_.dims.rope_dim, parts_.rope_interleaved, parts_.rope.inv_freq, parts_.rope.magnitude};
  step.forward.ops.rope(dims_of(heads, first, parts_.dims.rope_dim), step.batch.positions, rope, step.forward.stream);
}

}  // namespace conclave
