// 4-bit experts on a CPU: integer products over tiles of weights, activations rounded to 16 bits, which costs 0.002 %, far below
// what 4-bit weights do. Serves one token and long prompts alike, so it competes by its cost alone.
#include <fmt/format.h>

#include "moe/backend.h"
#include "moe/pipeline/pipeline_kernel.h"
#include "moe/plans/cpu_backend.h"
#include "ops/cpu/tiled_matrix.h"

namespace conclave::moe {
namespace {

class CpuLatencyBackend final : public MoeBackend {
 public:
  std::string_view name() const override { return "cpu_latency"; }
  Intent intent() const override { return Intent::general; }

  Support supports(const MoeProblem& p, const DeviceCaps& caps) const override {
    Support support = well_formed(p);
    need_of_cpus(
        support, p, caps, TiledMatrix::supports(p.weights, p.hidden) && TiledMatrix::supports(p.weights, p.inter),
        fmt::format(
            "has kernels for nvfp4, mxfp4 and, over an even number of columns, int4 with a scale for a row or for 16 columns or a "
            "multiple, not for {} with I {} and H {}",
            to_string(p.weights), p.inter, p.hidden),
        "16 bits");
    return support;
  }

  // As cpu_pipeline counts, with what its kernels do: 15 GB/s and 45 G products/s for each thread; plain C++ does about an
  // eightieth, less than cpu_pipeline.
  double cost(const MoeProblem& p, const DeviceCaps& caps, std::int64_t tokens) const override {
    return cpu_cost(p, caps, tokens, caps.isa == CpuIsa::scalar ? CpuSpeed{4.5, 0.2e3, 0.5e3} : CpuSpeed{4.5, 15e3, 45e3});
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
