// The operations as their formulas read: scalar code, float32 storage, float64 inside. Judges every faster implementation.
#include <cmath>
#include <numbers>

#include "ops/ops.h"
#include "ops/reference/reference_attention.h"
#include "ops/reference/reference_linear.h"
#include "ops/reference/reference_scan.h"
#include "ops/rows.h"
#include "quant/codec.h"

namespace conclave {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double activated(Elementwise kind, double x) {
  switch (kind) {
    case Elementwise::silu: return x * sigmoid(x);
    case Elementwise::gelu: return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case Elementwise::gelu_tanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
    case Elementwise::relu2: return x > 0.0 ? x * x : 0.0;
  }
  check_failed("an activation", __FILE__, __LINE__, std::to_string(static_cast<int>(kind)));
}

class ReferenceOps final : public Ops {
 public:
  std::string_view name() const noexcept override { return "reference"; }

  std::unique_ptr<Linear> make_linear(const QuantMatrix& weight, ConstTensorView bias) const override {
    return make_reference_linear(weight, bias);
  }
  std::size_t linear_workspace_bytes(const QuantScheme&, std::int64_t, std::int64_t) const override { return 0; }

  void embed(const QuantMatrix& table, std::span<const std::int32_t> ids, TensorView out, Stream&) const noexcept override {
    const Codec& codec = codec_for(table.scheme);
    for (std::size_t t = 0; t < ids.size(); ++t)
      codec.decode_row(table, ids[t], {out.row<float>(static_cast<std::int64_t>(t)), static_cast<std::size_t>(table.cols)});
  }

  void rms_norm(ConstTensorView x, ConstTensorView weight, float eps, TensorView out, Stream&) const noexcept override {
    const std::int64_t n = row_length(x);
    for (std::int64_t r = 0; r < row_count(x); ++r) {
      const float* const in = row_at<float>(x, r);
      double squares = 0;
      for (std::int64_t i = 0; i < n; ++i) squares += static_cast<double>(in[i]) * static_cast<double>(in[i]);
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(eps));
      for (std::int64_t i = 0; i < n; ++i)
        row_at<float>(out, r)[i] =
            static_cast<float>(static_cast<double>(in[i]) * factor * (weight ? static_cast<double>(weight.as<float>()[i]) : 1.0));
    }
  }

  void add(TensorView x, ConstTensorView y, Stream&) const noexcept override {
    for (std::int64_t r = 0; r < row_count(x); ++r)
      for (std::int64_t i = 0; i < row_length(x); ++i) row_at<float>(x, r)[i] += row_at<float>(y, r)[i];
  }

  void scale_by_sigmoid(TensorView x, ConstTensorView gate, Stream&) const noexcept override {
    for (std::int64_t t = 0; t < x.shape[0]; ++t)
      for (std::int64_t i = 0; i < x.shape[1]; ++i)
        x.row<float>(t)[i] =
            static_cast<float>(static_cast<double>(x.row<float>(t)[i]) * sigmoid(static_cast<double>(*gate.row<float>(t))));
  }

  void scale_rows(TensorView x, std::span<const float> factors, Stream&) const noexcept override {
    for (std::int64_t t = 0; t < x.shape[0]; ++t)
      for (std::int64_t i = 0; i < x.shape.elements() / x.shape[0]; ++i) x.row<float>(t)[i] *= factors[static_cast<std::size_t>(t)];
  }

  void activate(Elementwise kind, ConstTensorView gate, ConstTensorView up, TensorView out, Stream&) const noexcept override {
    for (std::int64_t t = 0; t < up.shape[0]; ++t) {
      for (std::int64_t i = 0; i < up.shape[1]; ++i) {
        const auto u = static_cast<double>(up.row<float>(t)[i]);
        out.row<float>(t)[i] =
            static_cast<float>(gate ? activated(kind, static_cast<double>(gate.row<float>(t)[i])) * u : activated(kind, u));
      }
    }
  }

  // The angle is a float32 product, as in training; its cosine and sine are rounded to float32 once.
  void rope(TensorView x, std::span<const std::int32_t> positions, const Rope& rope, Stream&) const noexcept override {
    for (std::int64_t t = 0; t < x.shape[0]; ++t) {
      for (std::int64_t head = 0; head < x.shape[1]; ++head) {
        float* const v = x.row<float>(t) + head * x.stride[1];
        const int pairs = rope.rotary_dim / 2;
        for (int i = 0; i < pairs; ++i) {
          const float angle =
              static_cast<float>(positions[static_cast<std::size_t>(t)]) * rope.inv_freq[static_cast<std::size_t>(i)];
          const double c = std::cos(static_cast<double>(angle)) * static_cast<double>(rope.magnitude);
          const double s = std::sin(static_cast<double>(angle)) * static_cast<double>(rope.magnitude);
          float& a = rope.interleaved ? v[2 * i] : v[i];
          float& b = rope.interleaved ? v[2 * i + 1] : v[i + pairs];
          const auto a0 = static_cast<double>(a), b0 = static_cast<double>(b);
          a = static_cast<float>(a0 * c - b0 * s);
          b = static_cast<float>(b0 * c + a0 * s);
        }
      }
    }
  }

  void write_kv(ConstTensorView k, ConstTensorView v, const Batch& batch, const PagedKv& kv, Stream&) const noexcept override {
    reference_write_kv(k, v, batch, kv);
  }

  void read_keys(const PagedKv& kv, std::span<const std::int32_t> pages, std::int64_t first, TensorView out,
                 Stream&) const noexcept override {
    reference_read_keys(kv, pages, first, out);
  }

  void attention(ConstTensorView q, const PagedKv& kv, const Batch& batch, const AttentionSpec& spec, TensorView out,
                 Workspace& workspace, Stream& stream) const noexcept override {
    reference_attention(q, kv, batch, spec, out, workspace, pool_of(stream));
  }
  std::size_t attention_workspace_bytes(const AttentionSpec& spec, std::int64_t, std::int64_t max_context) const override {
    return reference_attention_workspace_bytes(spec, max_context);
  }

  void causal_conv(ConstTensorView x, ConstTensorView weight, ConstTensorView bias, const Batch& batch, TensorView history,
                   TensorView out, Stream&) const noexcept override {
    reference_causal_conv(x, weight, bias, batch, history, out);
  }
  void selective_scan(const SelectiveScan& scan, const Batch& batch, TensorView state, TensorView out,
                      Stream&) const noexcept override {
    reference_selective_scan(scan, batch, state, out);
  }

  void copy_rows(ConstTensorView x, TensorView out, Stream&) const noexcept override {
    for (std::int64_t t = 0; t < x.shape[0]; ++t)
      for (std::int64_t i = 0; i < x.shape[1]; ++i) out.row<float>(t)[i] = x.row<float>(t)[i];
  }

  void gather_rows(ConstTensorView x, std::span<const std::int32_t> ids, TensorView out, Stream&) const noexcept override {
    for (std::size_t r = 0; r < ids.size(); ++r)
      for (std::int64_t i = 0; i < x.shape[1]; ++i) out.row<float>(static_cast<std::int64_t>(r))[i] = x.row<float>(ids[r])[i];
  }
};

}  // namespace

std::unique_ptr<Ops> make_reference_ops() { return std::make_unique<ReferenceOps>(); }

}  // namespace conclave
