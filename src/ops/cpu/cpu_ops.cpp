// The operations of the CPU device, over the kernels of its instruction set. Rows are shared out to the threads; what a row becomes
// does not depend on the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/math.h"
#include "kernels/cpu/dispatch.h"
#include "ops/cpu/cpu_attention.h"
#include "ops/cpu/cpu_linear.h"
#include "ops/cpu/cpu_rope.h"
#include "ops/cpu/cpu_scan.h"
#include "ops/cpu/kv_rows.h"
#include "ops/ops.h"
#include "ops/rows.h"
#include "quant/codec.h"

namespace conclave {
namespace {

float sigmoid(float x) noexcept { return 1.0f / (1.0f + std::exp(-x)); }

float activated(Elementwise kind, float x) noexcept {
  constexpr float kHalfSqrt = std::numbers::sqrt2_v<float> / 2;                                    // 1 / sqrt(2)
  constexpr float kTanhFactor = std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>;  // sqrt(2 / pi)
  switch (kind) {
    case Elementwise::silu: return x * sigmoid(x);
    case Elementwise::gelu: return 0.5f * x * (1.0f + std::erf(x * kHalfSqrt));
    case Elementwise::gelu_tanh: return 0.5f * x * (1.0f + std::tanh(kTanhFactor * (x + 0.044715f * x * x * x)));
    case Elementwise::relu2: return x > 0.0f ? x * x : 0.0f;
  }
  return x;
}

// body(row) for every row, in tasks long enough to be worth sharing; short work stays on the caller.
template <class Body>
void for_rows(Stream& stream, std::int64_t rows, std::int64_t length, Body body) noexcept {
  constexpr std::int64_t kValuesPerTask = 8192;
  const std::int64_t per_task = std::max<std::int64_t>(1, kValuesPerTask / std::max<std::int64_t>(1, length));
  pool_of(stream).for_each(ceil_div(rows, per_task), [&](std::int64_t task, int) noexcept {
    const std::int64_t end = std::min(rows, (task + 1) * per_task);
    for (std::int64_t row = task * per_task; row < end; ++row) body(row);
  });
}

class CpuOps final : public Ops {
 public:
  explicit CpuOps(const DeviceCaps& caps)
      : caps_(caps), kernels_(kernel_table(caps.isa)), name_(fmt::format("cpu-{}", kernels_.isa)) {}

  std::string_view name() const noexcept override { return name_; }

  std::unique_ptr<Linear> make_linear(const QuantMatrix& weight, ConstTensorView bias) const override {
    return make_cpu_linear(weight, bias, caps_);
  }
  std::size_t linear_workspace_bytes(const QuantScheme& scheme, std::int64_t cols, std::int64_t tokens) const override {
    return cpu_linear_workspace_bytes(scheme, cols, tokens, caps_);
  }

  void embed(const QuantMatrix& table, std::span<const std::int32_t> ids, TensorView out, Stream& stream) const noexcept override {
    const Codec& codec = codec_for(table.scheme);
    for_rows(stream, static_cast<std::int64_t>(ids.size()), table.cols, [&](std::int64_t t) noexcept {
      codec.decode_row(table, ids[static_cast<std::size_t>(t)], {out.row<float>(t), static_cast<std::size_t>(table.cols)});
    });
  }

  void rms_norm(ConstTensorView x, ConstTensorView weight, float eps, TensorView out, Stream& stream) const noexcept override {
    const float* const w = weight ? weight.as<float>() : nullptr;
    for_rows(stream, row_count(x), row_length(x), [&](std::int64_t r) noexcept {
      kernels_.rms_norm(row_at<float>(x, r), w, eps, row_at<float>(out, r), row_length(x));
    });
  }

  void add(TensorView x, ConstTensorView y, Stream& stream) const noexcept override {
    for_rows(stream, row_count(x), row_length(x), [&](std::int64_t r) noexcept {
      float* const to = row_at<float>(x, r);
      const float* const from = row_at<float>(y, r);
      for (std::int64_t i = 0; i < row_length(x); ++i) to[i] += from[i];
    });
  }

  void scale_by_sigmoid(TensorView x, ConstTensorView gate, Stream& stream) const noexcept override {
    for_rows(stream, x.shape[0], x.shape[1], [&](std::int64_t t) noexcept {
      const float factor = sigmoid(*gate.row<float>(t));
      float* const row = x.row<float>(t);
      for (std::int64_t i = 0; i < x.shape[1]; ++i) row[i] *= factor;
    });
  }

  void scale_rows(TensorView x, std::span<const float> factors, Stream& stream) const noexcept override {
    const std::int64_t length = x.shape[0] == 0 ? 0 : x.shape.elements() / x.shape[0];
    for_rows(stream, x.shape[0], length, [&](std::int64_t t) noexcept {
      float* const row = x.row<float>(t);
      for (std::int64_t i = 0; i < length; ++i) row[i] *= factors[static_cast<std::size_t>(t)];
    });
  }

  void activate(Elementwise kind, ConstTensorView gate, ConstTensorView up, TensorView out,
                Stream& stream) const noexcept override {
    const std::int64_t n = up.shape[1];
    for_rows(stream, up.shape[0], n, [&](std::int64_t t) noexcept {
      const float* const u = up.row<float>(t);
      float* const to = out.row<float>(t);
      if (!gate) {
        for (std::int64_t i = 0; i < n; ++i) to[i] = activated(kind, u[i]);
      } else if (kind == Elementwise::silu) {
        kernels_.silu_mul(gate.row<float>(t), u, to, n);
      } else {
        const float* const g = gate.row<float>(t);
        for (std::int64_t i = 0; i < n; ++i) to[i] = activated(kind, g[i]) * u[i];
      }
    });
  }

  void rope(TensorView x, std::span<const std::int32_t> positions, const Rope& rope, Stream& stream) const noexcept override {
    cpu_rope(x, positions, rope, pool_of(stream));
  }

  void write_kv(ConstTensorView k, ConstTensorView v, const Batch& batch, const PagedKv& kv,
                Stream& stream) const noexcept override {
    for (const SequenceRows& sequence : batch.sequences) {
      for_rows(stream, sequence.rows, 2 * row_length(k) * k.shape[1], [&](std::int64_t i) noexcept {
        const std::int64_t row = sequence.first_row + i, position = sequence.context - sequence.rows + i;
        const auto store = [&](ConstTensorView from, const TensorView& cache, float scale) noexcept {
          for (std::int64_t head = 0; head < from.shape[1]; ++head)
            store_kv_row(kernels_, from.row<float>(row) + head * from.stride[1], from.shape[2], cache.dtype, scale,
                         kv_row(cache, kv.page_tokens, sequence.pages, position, head));
        };
        store(k, kv.k, kv.k_scale);
        if (v) store(v, kv.v, kv.v_scale);
      });
    }
  }

  void read_keys(const PagedKv& kv, std::span<const std::int32_t> pages, std::int64_t first, TensorView out,
                 Stream& stream) const noexcept override {
    for_rows(stream, out.shape[0], out.shape[1] * out.shape[2], [&](std::int64_t i) noexcept {
      for (std::int64_t head = 0; head < out.shape[1]; ++head)
        load_kv_row(kv_row(kv.k, kv.page_tokens, pages, first + i, head), out.shape[2], kv.k.dtype, kv.k_scale,
                    out.row<float>(i) + head * out.stride[1]);
    });
  }

  void attention(ConstTensorView q, const PagedKv& kv, const Batch& batch, const AttentionSpec& spec, TensorView out,
                 Workspace& workspace, Stream& stream) const noexcept override {
    cpu_attention(kernels_, q, kv, batch, spec, out, workspace, pool_of(stream));
  }
  std::size_t attention_workspace_bytes(const AttentionSpec& spec, std::int64_t tokens, std::int64_t max_context) const override {
    return cpu_attention_workspace_bytes(spec, tokens, max_context, caps_.threads);
  }

  void causal_conv(ConstTensorView x, ConstTensorView weight, ConstTensorView bias, const Batch& batch, TensorView history,
                   TensorView out, Stream& stream) const noexcept override {
    cpu_causal_conv(x, weight, bias, batch, history, out, pool_of(stream));
  }
  void selective_scan(const SelectiveScan& scan, const Batch& batch, TensorView state, TensorView out,
                      Stream& stream) const noexcept override {
    cpu_selective_scan(kernels_, scan, batch, state, out, pool_of(stream));
  }

  void copy_rows(ConstTensorView x, TensorView out, Stream& stream) const noexcept override {
    const auto bytes = static_cast<std::size_t>(x.shape[1]) * sizeof(float);
    for_rows(stream, x.shape[0], x.shape[1],
             [&](std::int64_t t) noexcept { std::memcpy(out.row<float>(t), x.row<float>(t), bytes); });
  }

  void gather_rows(ConstTensorView x, std::span<const std::int32_t> ids, TensorView out, Stream& stream) const noexcept override {
    const auto bytes = static_cast<std::size_t>(x.shape[1]) * sizeof(float);
    for_rows(stream, static_cast<std::int64_t>(ids.size()), x.shape[1], [&](std::int64_t r) noexcept {
      std::memcpy(out.row<float>(r), x.row<float>(ids[static_cast<std::size_t>(r)]), bytes);
    });
  }

 private:
  DeviceCaps caps_;
  const KernelTable& kernels_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Ops> make_cpu_ops(const DeviceCaps& caps) { return std::make_unique<CpuOps>(caps); }

Support has_ops(const DeviceCaps& caps) {
  return Support().need(!caps.cuda, Why::device,
                        "there are no operations for CUDA devices: attention and dense layers run on CPUs only");
}

}  // namespace conclave
