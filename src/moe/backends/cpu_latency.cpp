// 4-bit experts on a CPU: integer products over tiles of weights, activations rounded to 16 bits, which costs 0.002 %, far below
// what 4-bit weights do. Serves one token and long prompts alike, so it competes by its cost alone.
#include <fmt/format.h>

#include <algorithm>

#include "moe/backend.h"
#include "moe/pipeline/pipeline_kernel.h"
#include "ops/cpu/tiled_matrix.h"

namespace conclave::moe {
namespace {

class CpuLatencyBackend final : public MoeBackend {
 public:
  std::string_view name() const override { return "cpu_latency"; }
  Intent intent() const override { return Intent::general; }

  Support supports(const MoeProblem& p, const DeviceCaps& caps) const override {
    Support support = well_formed(p);
    support.need(!caps.cuda, Why::device, "runs on a CPU only");
    support.need(
        TiledMatrix::supports(p.weights), Why::quant,
        fmt::format("has kernels for nvfp4, mxfp4 and int4 with a scale for a row or for 16 columns or a multiple, not for {}",
                    to_string(p.weights)));
    support.need(
        p.activations == kF32, Why::quant,
        fmt::format("keeps activations in 16 bits, {} were asked for (weight-only is activations f32)", to_string(p.activations)));
    support.need(p.io == DType::f32, Why::dtype, fmt::format("hidden states must be f32 on a CPU, they are {}", to_string(p.io)));
    support.need(p.router_logits == DType::f32 || p.router_logits == DType::bf16, Why::dtype,
                 fmt::format("router logits must be f32 or bf16, they are {}", to_string(p.router_logits)));
    return support;
  }

  // As cpu_pipeline counts, with what its kernels do: 15 GB/s and 40 G products/s for each thread; plain C++ does about an
  // eightieth, less than cpu_pipeline.
  double cost(const MoeProblem& p, const DeviceCaps& caps, std::int64_t tokens) const override {
    const double weights = (p.activation.gated ? 3.0 : 2.0) * p.hidden * p.inter;
    const double pairs = static_cast<double>(tokens) * p.top_k * p.local_count / std::max(p.experts, 1);
    const double active = std::min<double>(std::max(pairs, 1.0), p.local_count);
    const double bytes_us = active * weights * 4.5 / 8.0 / (caps.isa == CpuIsa::scalar ? 0.2e3 : 15e3);
    const double products_us = pairs * weights / (caps.isa == CpuIsa::scalar ? 0.5e3 : 40e3);
    return 5.0 + std::max(bytes_us, products_us) / std::max(caps.threads, 1);
  }

  std::unique_ptr<MoeKernel> build(const MoeProblem& p, const ExpertWeights& weights, Device& device) const override {
    check_weights(p, weights);
    return std::make_unique<PipelineKernel>(p, make_cpu_router(p), make_local_exchange(p, device.caps()),
                                            make_cpu_tiled_experts(p, weights, device), kTiledRounding);
  }
};

}  // namespace

const MoeBackend& cpu_latency_backend();  // declared by the register
const MoeBackend& cpu_latency_backend() {
  static const CpuLatencyBackend instance;
  return instance;
}

}  // namespace conclave::moe
