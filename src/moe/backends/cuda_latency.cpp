// 4-bit experts of few tokens on an NVIDIA GPU of compute capability 9.0: one kernel for the call, weights decoded on their way to
// the tensor cores, activations in bf16. Its answers about machines do not depend on whether this build can run it: without CUDA
// there is no device to build it on.
#include <fmt/format.h>

#include "moe/backend.h"
#include "moe/pipeline/cuda_latency_kernel.h"
#include "moe/plans/cuda_latency.h"

namespace conclave::moe {
namespace {

constexpr int kCapability = 90;
constexpr std::int32_t kMostChoices = 32;

class CudaLatencyBackend final : public MoeBackend {
 public:
  std::string_view name() const override { return "cuda_latency"; }
  Intent intent() const override { return Intent::latency; }

  Support supports(const MoeProblem& p, const DeviceCaps& caps) const override {
    Support support = well_formed(p);
    support.need(caps.cuda && caps.compute_capability == kCapability, Why::device, "runs on GPUs of compute capability 9.0 only");
    support.need(p.weights == kNvfp4 || p.weights == kMxfp4, Why::quant,
                 fmt::format("has kernels for nvfp4 and mxfp4, not for {}", to_string(p.weights)));
    support.need(
        p.activations == kF32, Why::quant,
        fmt::format("keeps activations in bf16, {} were asked for (weight-only is activations f32)", to_string(p.activations)));
    support.need(p.io == DType::bf16, Why::dtype, fmt::format("hidden states must be bf16, they are {}", to_string(p.io)));
    support.need(p.router_logits == DType::f32 || p.router_logits == DType::bf16, Why::dtype,
                 fmt::format("router logits must be f32 or bf16, they are {}", to_string(p.router_logits)));
    support.need(p.hidden % 16 == 0 && p.inter % 16 == 0, Why::shape,
                 fmt::format("H {} and I {} must be multiples of 16", p.hidden, p.inter));
    support.need(p.top_k <= kMostChoices, Why::routing, fmt::format("top_k must be at most {}, it is {}", kMostChoices, p.top_k));
    support.need(!p.deterministic, Why::determinism, "where a sum is cut depends on the tokens of the call, so its last bits do");
    return support;
  }

  double cost(const MoeProblem& p, const DeviceCaps&, std::int64_t tokens) const override { return cuda_latency_cost(p, tokens); }

  std::unique_ptr<MoeKernel> build(const MoeProblem& p, const ExpertWeights& weights, Device& device) const override {
    check_weights(p, weights);
    return make_cuda_latency_kernel(p, weights, device);
  }
};

}  // namespace

const MoeBackend& cuda_latency_backend();  // declared by the register
const MoeBackend& cuda_latency_backend() {
  static const CudaLatencyBackend instance;
  return instance;
}

}  // namespace conclave::moe
