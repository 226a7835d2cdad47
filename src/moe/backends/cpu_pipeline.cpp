// The general backend of CPUs: the pipeline with packed weights and the kernels of the host's instruction set. It serves one
// token and long prompts alike; activations stay float32 ("weight-only"), whatever the weights are.
#include <fmt/format.h>

#include "moe/backend.h"
#include "moe/pipeline/pipeline_kernel.h"
#include "moe/plans/cpu_backend.h"
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
    need_of_cpus(support, p, caps, PackedMatrix::supports(p.weights),
                 fmt::format("no kernel for weights of {}", to_string(p.weights)), "f32");
    return support;
  }

  // 10 GB/s and 30 G products/s for each thread (docs/performance.md).
  double cost(const MoeProblem& p, const DeviceCaps& caps, std::int64_t tokens) const override {
    return cpu_cost(p, caps, tokens, {bits_per_weight(p.weights), 10e3, caps.isa == CpuIsa::scalar ? 1e3 : 30e3});
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
