// The general backend of CPUs: the pipeline with packed weights and the kernels of the host's instruction set. It serves one
// token and long prompts alike; activations stay float32 ("weight-only"), whatever the weights are.
#include <fmt/format.h>

#include <algorithm>

#include "moe/backend.h"
#include "moe/pipeline/pipeline_kernel.h"
#include "ops/cpu/packed_matrix.h"

namespace conclave::moe {
namespace {

double bits_per_weight(const QuantScheme& scheme) {
  switch (scheme.code) {
    case Code::f32: return 32.0;
    case Code::f16:
    case Code::bf16: return 16.0;
    case Code::f8e4m3: return 8.0;
    case Code::e2m1:
    case Code::int4: return 4.5;
  }
  return 32.0;
}

class CpuPipelineBackend final : public MoeBackend {
 public:
  std::string_view name() const override { return "cpu_pipeline"; }
  Intent intent() const override { return Intent::general; }

  Support supports(const MoeProblem& p, const DeviceCaps& caps) const override {
    Support support = well_formed(p);
    support.need(!caps.cuda, Why::device, "runs on a CPU only");
    support.need(PackedMatrix::supports(p.weights), Why::quant, fmt::format("no kernel for weights of {}", to_string(p.weights)));
    support.need(
        p.activations == kF32, Why::quant,
        fmt::format("keeps activations in f32, {} were asked for (weight-only is activations f32)", to_string(p.activations)));
    support.need(p.io == DType::f32, Why::dtype, fmt::format("hidden states must be f32 on a CPU, they are {}", to_string(p.io)));
    support.need(p.router_logits == DType::f32 || p.router_logits == DType::bf16, Why::dtype,
                 fmt::format("router logits must be f32 or bf16, they are {}", to_string(p.router_logits)));
    return support;
  }

  // Bytes of the active experts from memory, or products, whichever takes longer; 10 GB/s and 8 G products/s for each thread.
  double cost(const MoeProblem& p, const DeviceCaps& caps, std::int64_t tokens) const override {
    const double weights = (p.activation.gated ? 3.0 : 2.0) * p.hidden * p.inter;
    const double pairs = static_cast<double>(tokens) * p.top_k * p.local_count / std::max(p.experts, 1);
    const double active = std::min<double>(std::max(pairs, 1.0), p.local_count);
    const double bytes_us = active * weights * bits_per_weight(p.weights) / 8.0 / 10e3;
    const double products_us = pairs * weights / (caps.isa == CpuIsa::scalar ? 1e3 : 8e3);
    return 5.0 + std::max(bytes_us, products_us) / std::max(caps.threads, 1);
  }

  std::unique_ptr<MoeKernel> build(const MoeProblem& p, const ExpertWeights& weights, Device& device) const override {
    check_weights(p, weights);
    const DeviceCaps& caps = device.caps();
    return std::make_unique<PipelineKernel>(p, make_cpu_router(p), make_local_exchange(p, caps),
                                            make_cpu_experts(p, weights, device));
  }
};

}  // namespace

const MoeBackend& cpu_pipeline_backend();  // declared by the register
const MoeBackend& cpu_pipeline_backend() {
  static const CpuPipelineBackend instance;
  return instance;
}

}  // namespace conclave::moe
