#include "moe/backends/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "moe/activation.h"
#include "moe/backend.h"
#include "moe/pipeline/router.h"
#include "quant/codec.h"

namespace conclave::moe {
namespace {

// Element i along the last dimension of a view of f32 or bf16.
double element(const ConstTensorView& v, std::int64_t i) {
  const std::int64_t at = i * v.stride[static_cast<std::size_t>(v.shape.rank() - 1)];
  return static_cast<double>(v.dtype == DType::f32 ? v.as<float>()[at] : v.as<bf16>()[at].to_float());
}

// Eight partial sums, so that the judge of large layers does not take all day.
double dot(const float* a, const float* b, std::int64_t n) {
  std::array<double, 8> sums{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::int64_t j = 0; j < 8; ++j)
      sums[static_cast<std::size_t>(j)] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
  double sum = 0.0;
  for (; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (const double s : sums) sum += s;
  return sum;
}

// One call: what is given, and a buffer row per slot (token, choice) for every stage of an expert.
struct Stages {
  const MoeProblem& problem;
  const Codec& weights;
  const Codec& activations;
  ConstTensorView hidden;
  std::span<const std::int32_t> ids;
  const float* slot_weights;
  float* gate_in;  // [T * K, H]
  float* up_in;    // [T * K, H]
  float* inner;    // [T * K, I]
  double* outer;   // [T * K, H]

  template <class Body>
  void each_slot_of(std::int32_t expert, Body body) const {
    for (std::size_t slot = 0; slot < ids.size(); ++slot)
      if (ids[slot] == expert) body(static_cast<std::int64_t>(slot));
  }

  void read_inputs(const Expert& e, std::int32_t id) const {
    const std::int64_t h = problem.hidden;
    each_slot_of(id, [&](std::int64_t slot) {
      const ConstTensorView token = hidden.rows(slot / problem.top_k, 1);
      const double factor = problem.routing.weight_on_input ? static_cast<double>(slot_weights[slot]) : 1.0;
      const std::span<float> gate(gate_in + slot * h, static_cast<std::size_t>(h)),
          up(up_in + slot * h, static_cast<std::size_t>(h));
      for (std::int64_t k = 0; k < h; ++k) up_in[slot * h + k] = static_cast<float>(element(token, k) * factor);
      if (problem.activation.gated) {
        std::ranges::copy(up, gate.begin());
        activations.quantize_activation_row(problem.activations, e.gate.input_scale, gate);
      }
      activations.quantize_activation_row(problem.activations, e.up.input_scale, up);
    });
  }

  // row: scratch for one decoded row of weights.
  void run_gate_up(const Expert& e, std::int32_t id, float* gate_row, float* up_row) const {
    const std::int64_t h = problem.hidden, n = problem.inter;
    const ActivationSpec& spec = problem.activation;
    for (std::int64_t i = 0; i < n; ++i) {
      if (spec.gated) weights.decode_row(e.gate, i, {gate_row, static_cast<std::size_t>(h)});
      weights.decode_row(e.up, i, {up_row, static_cast<std::size_t>(h)});
      each_slot_of(id, [&](std::int64_t slot) {
        const double u = dot(up_in + slot * h, up_row, h) + (e.up_bias ? element(e.up_bias, i) : 0.0);
        double a;
        if (spec.gated) {
          const double g = dot(gate_in + slot * h, gate_row, h) + (e.gate_bias ? element(e.gate_bias, i) : 0.0);
          a = activate(spec, g, u);
        } else {
          a = activate(spec, u);
        }
        inner[slot * n + i] = static_cast<float>(a);
      });
    }
  }

  void run_down(const Expert& e, std::int32_t id, float* row) const {
    const std::int64_t h = problem.hidden, n = problem.inter;
    each_slot_of(id, [&](std::int64_t slot) {
      activations.quantize_activation_row(problem.activations, e.down.input_scale, {inner + slot * n, static_cast<std::size_t>(n)});
    });
    for (std::int64_t i = 0; i < h; ++i) {
      weights.decode_row(e.down, i, {row, static_cast<std::size_t>(n)});
      each_slot_of(id, [&](std::int64_t slot) {
        outer[slot * h + i] = dot(inner + slot * n, row, n) + (e.down_bias ? element(e.down_bias, i) : 0.0);
      });
    }
  }
};

bool decodable(const QuantScheme& scheme) {
  return std::ranges::any_of(all_codecs(), [&](const Codec* codec) { return codec->handles(scheme); });
}

// The formats that codecs can round a row of activations to.
bool rounds_activations(const QuantScheme& s) {
  return s == kF32 || s == kBf16 || s == kNvfp4Activation || s == kFp8TensorStatic || (s.dynamic && decodable(s));
}

class ReferenceKernel final : public MoeKernel {
 public:
  ReferenceKernel(const MoeProblem& problem, const ExpertWeights& weights, int threads)
      : problem_(problem), weights_(weights), threads_(threads), router_(make_cpu_router(problem)) {}

  std::size_t workspace_bytes(std::int64_t tokens) const override {
    return routed_bytes(problem_, tokens) + Workspace::padded(static_cast<std::size_t>(tokens * problem_.hidden) * sizeof(double)) +
           reference_experts_workspace_bytes(problem_, tokens, threads_);
  }

  void run(const MoeCall& call, Workspace& workspace, Stream& stream) const noexcept override {
    const std::int64_t tokens = call.hidden.shape[0], h = problem_.hidden;
    if (tokens == 0) return;
    Workspace::Scope scope(workspace);
    const Routed routed = take_routed(problem_, tokens, workspace);
    router_->route(call, routed, stream);
    const TensorView sums = workspace.take(DType::f64, {tokens, h});
    reference_experts(problem_, weights_, call.hidden, routed.ids, routed.weights, sums, workspace, stream);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const double* from = sums.row<double>(t);
      for (std::int64_t i = 0; i < h; ++i) {
        const auto value = static_cast<float>(from[i]);
        if (problem_.io == DType::bf16)
          call.out.row<bf16>(t)[i] = bf16::from_float(value);
        else
          call.out.row<float>(t)[i] = value;
      }
    }
  }

  std::string describe() const override { return fmt::format("float64 sums, {} decoded row by row", to_string(problem_.weights)); }

 private:
  MoeProblem problem_;
  ExpertWeights weights_;  // views: looks at the weights in place
  int threads_;
  std::unique_ptr<Router> router_;
};

class ReferenceBackend final : public MoeBackend {
 public:
  std::string_view name() const override { return "reference"; }
  Intent intent() const override { return Intent::reference; }

  Support supports(const MoeProblem& p, const DeviceCaps& caps) const override {
    Support support = well_formed(p);
    support.need(!caps.cuda, Why::device, "runs on a CPU only");
    support.need(decodable(p.weights), Why::quant, fmt::format("no codec reads weights of {}", to_string(p.weights)));
    support.need(rounds_activations(p.activations), Why::quant,
                 fmt::format("no codec rounds activations to {}", to_string(p.activations)));
    support.need(p.io == DType::f32 || p.io == DType::bf16, Why::dtype,
                 fmt::format("hidden states must be f32 or bf16, they are {}", to_string(p.io)));
    support.need(p.router_logits == DType::f32 || p.router_logits == DType::bf16, Why::dtype,
                 fmt::format("router logits must be f32 or bf16, they are {}", to_string(p.router_logits)));
    return support;
  }

  // About 2 ns for a weight of an expert, decoded once per call, and 0.5 ns for every product.
  double cost(const MoeProblem& p, const DeviceCaps&, std::int64_t tokens) const override {
    const double weights = (p.activation.gated ? 3.0 : 2.0) * p.hidden * p.inter;
    const double pairs = static_cast<double>(tokens) * p.top_k;
    return weights * (2e-3 * std::min<double>(pairs, p.local_count) + 0.5e-3 * pairs);
  }

  std::unique_ptr<MoeKernel> build(const MoeProblem& p, const ExpertWeights& weights, Device& device) const override {
    check_weights(p, weights);
    return std::make_unique<ReferenceKernel>(p, weights, device.caps().threads);
  }
};

}  // namespace

std::size_t reference_experts_workspace_bytes(const MoeProblem& p, std::int64_t tokens, int threads) {
  const auto pairs = static_cast<std::size_t>(tokens * p.top_k);
  const auto h = static_cast<std::size_t>(p.hidden), n = static_cast<std::size_t>(p.inter);
  const std::size_t rows = static_cast<std::size_t>(threads) * 2 * std::max(h, n);
  return 2 * Workspace::padded(pairs * h * sizeof(float)) + Workspace::padded(pairs * n * sizeof(float)) +
         Workspace::padded(pairs * h * sizeof(double)) + Workspace::padded(rows * sizeof(float));
}

void reference_experts(const MoeProblem& p, const ExpertWeights& weights, ConstTensorView hidden, ConstTensorView ids,
                       ConstTensorView slot_weights, TensorView out, Workspace& workspace, Stream& stream) noexcept {
  const std::int64_t tokens = hidden.shape[0], pairs = tokens * p.top_k, h = p.hidden, longest = std::max(p.hidden, p.inter);
  if (tokens == 0) return;
  Workspace::Scope scope(workspace);
  const Stages stages{p,
                      codec_for(p.weights),
                      codec_for(p.activations),
                      hidden,
                      {ids.as<std::int32_t>(), static_cast<std::size_t>(pairs)},
                      slot_weights.as<float>(),
                      workspace.take<float>(pairs * h),
                      workspace.take<float>(pairs * h),
                      workspace.take<float>(pairs * p.inter),
                      workspace.take<double>(pairs * h)};
  float* scratch = workspace.take<float>(pool_of(stream).size() * 2 * longest);

  pool_of(stream).for_each(p.local_count, [&](std::int64_t local, int worker) noexcept {
    const Expert& expert = weights.experts[static_cast<std::size_t>(local)];
    const std::int32_t id = p.local_first + static_cast<std::int32_t>(local);
    if (std::ranges::find(stages.ids, id) == stages.ids.end()) return;
    float* row = scratch + worker * 2 * longest;
    stages.read_inputs(expert, id);
    stages.run_gate_up(expert, id, row, row + longest);
    stages.run_down(expert, id, row);
  });

  for (std::int64_t t = 0; t < tokens; ++t) {
    double* sums = out.row<double>(t);
    std::fill_n(sums, h, 0.0);
    for (std::int64_t slot = t * p.top_k; slot < (t + 1) * p.top_k; ++slot) {
      const std::int64_t local = std::int64_t{stages.ids[static_cast<std::size_t>(slot)]} - p.local_first;
      if (local < 0 || local >= p.local_count) continue;
      const double factor = p.routing.weight_on_input ? 1.0 : static_cast<double>(stages.slot_weights[slot]);
      for (std::int64_t i = 0; i < h; ++i) sums[i] += factor * stages.outer[slot * h + i];
    }
  }
}

const MoeBackend& reference_backend();  // declared by the register
const MoeBackend& reference_backend() {
  static const ReferenceBackend instance;
  return instance;
}

}  // namespace conclave::moe
