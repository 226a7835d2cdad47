#include "ops/reference/reference_attention.h"

#include <cmath>

#include "device/cpu_features.h"

namespace conclave {
namespace {

// Element d of the keys or values of one position and head.
struct Element {
  const TensorView& cache;
  std::int32_t page_tokens;
  float scale;

  std::byte* address(std::span<const std::int32_t> pages, std::int64_t position, std::int64_t head, std::int64_t d) const noexcept {
    const std::int64_t page = pages[static_cast<std::size_t>(position / page_tokens)];
    const std::int64_t index =
        page * cache.stride[0] + (position % page_tokens) * cache.stride[1] + head * cache.stride[2] + d * cache.stride[3];
    return cache.data + index * size_of(cache.dtype);
  }
  double read(std::span<const std::int32_t> pages, std::int64_t position, std::int64_t head, std::int64_t d) const noexcept {
    const std::byte* at = address(pages, position, head, d);
    if (cache.dtype == DType::f32) return *reinterpret_cast<const float*>(at);
    if (cache.dtype == DType::bf16) return reinterpret_cast<const bf16*>(at)->to_float();
    CONCLAVE_CHECK(cache.dtype == DType::f8e4m3, std::string(to_string(cache.dtype)));
    return reinterpret_cast<const f8e4m3*>(at)->to_float() * scale;
  }
  void write(std::span<const std::int32_t> pages, std::int64_t position, std::int64_t head, std::int64_t d,
             float value) const noexcept {
    std::byte* at = address(pages, position, head, d);
    if (cache.dtype == DType::f32) {
      *reinterpret_cast<float*>(at) = value;
    } else if (cache.dtype == DType::bf16) {
      *reinterpret_cast<bf16*>(at) = bf16::from_float(value);
    } else {
      CONCLAVE_CHECK(cache.dtype == DType::f8e4m3, std::string(to_string(cache.dtype)));
      *reinterpret_cast<f8e4m3*>(at) = f8e4m3::from_float(value / scale);
    }
  }
};

bool sees(const AttentionSpec& spec, std::int64_t position, std::int64_t other) {
  if (other > position) return false;
  if (spec.window > 0 && position - other >= spec.window) return false;
  return spec.chunk <= 0 || position / spec.chunk == other / spec.chunk;
}

std::int64_t position_of(const SequenceRows& sequence, std::int64_t i) { return sequence.context - sequence.rows + i; }

// One row and head. `weights`: one double per position; `mixed`: one per dimension.
void attend(const float* q, const Element& keys, const Element& values, const SequenceRows& sequence, std::int64_t position,
            std::int64_t head, const AttentionSpec& spec, double* weights, double* mixed, float* out) noexcept {
  const std::int64_t kv_head = head / (spec.heads / spec.kv_heads);
  const double sink = spec.sinks.empty() ? -HUGE_VAL : static_cast<double>(spec.sinks[static_cast<std::size_t>(head)]);
  double largest = sink;
  for (std::int64_t p = 0; p <= position; ++p) {
    if (!sees(spec, position, p)) continue;
    double dot = 0;
    for (std::int64_t d = 0; d < spec.head_dim; ++d) dot += static_cast<double>(q[d]) * keys.read(sequence.pages, p, kv_head, d);
    weights[p] = dot * static_cast<double>(spec.scale);
    largest = std::fmax(largest, weights[p]);
  }
  double sum = spec.sinks.empty() ? 0.0 : std::exp(sink - largest);
  for (std::int64_t d = 0; d < spec.values(); ++d) mixed[d] = 0;
  for (std::int64_t p = 0; p <= position; ++p) {
    if (!sees(spec, position, p)) continue;
    const double weight = std::exp(weights[p] - largest);
    sum += weight;
    for (std::int64_t d = 0; d < spec.values(); ++d) mixed[d] += weight * values.read(sequence.pages, p, kv_head, d);
  }
  for (std::int64_t d = 0; d < spec.values(); ++d) out[d] = static_cast<float>(mixed[d] / sum);
}

}  // namespace

std::size_t reference_attention_workspace_bytes(const AttentionSpec& spec, std::int64_t max_context) {
  return Workspace::padded(static_cast<std::size_t>(usable_threads() * (max_context + spec.values())) * sizeof(double));
}

void reference_attention(ConstTensorView q, const PagedKv& kv, const Batch& batch, const AttentionSpec& spec, TensorView out,
                         Workspace& workspace, ThreadPool& pool) noexcept {
  const Element keys{kv.k, kv.page_tokens, kv.k_scale}, values{kv.v, kv.page_tokens, kv.v_scale};
  for (const SequenceRows& sequence : batch.sequences) {
    const Workspace::Scope scope(workspace);
    const std::int64_t per_worker = sequence.context + spec.values();
    auto* const memory = workspace.take<double>(pool.size() * per_worker);
    pool.for_each(std::int64_t{sequence.rows} * spec.heads, [&](std::int64_t task, int worker) noexcept {
      const std::int64_t i = task / spec.heads, head = task % spec.heads, row = sequence.first_row + i;
      double* const weights = memory + worker * per_worker;
      attend(q.row<float>(row) + head * q.stride[1], keys, values, sequence, position_of(sequence, i), head, spec, weights,
             weights + sequence.context, out.row<float>(row) + head * out.stride[1]);
    });
  }
}

void reference_write_kv(ConstTensorView k, ConstTensorView v, const Batch& batch, const PagedKv& kv) noexcept {
  const Element keys{kv.k, kv.page_tokens, kv.k_scale}, values{kv.v, kv.page_tokens, kv.v_scale};
  for (const SequenceRows& sequence : batch.sequences) {
    for (std::int64_t i = 0; i < sequence.rows; ++i) {
      for (std::int64_t head = 0; head < k.shape[1]; ++head) {
        for (std::int64_t d = 0; d < k.shape[2]; ++d) {
          const std::int64_t row = sequence.first_row + i, position = position_of(sequence, i);
          keys.write(sequence.pages, position, head, d, k.row<float>(row)[head * k.stride[1] + d]);
          if (v) values.write(sequence.pages, position, head, d, v.row<float>(row)[head * v.stride[1] + d]);
        }
      }
    }
  }
}

void reference_read_keys(const PagedKv& kv, std::span<const std::int32_t> pages, std::int64_t first, TensorView out) noexcept {
  const Element keys{kv.k, kv.page_tokens, kv.k_scale};
  for (std::int64_t i = 0; i < out.shape[0]; ++i)
    for (std::int64_t head = 0; head < out.shape[1]; ++head)
      for (std::int64_t d = 0; d < out.shape[2]; ++d)
        out.row<float>(i)[head * out.stride[1] + d] = static_cast<float>(keys.read(pages, first + i, head, d));
}

}  // namespace conclave
