#include "moe/plans/cpu_backend.h"

#include <fmt/format.h>

#include <utility>

namespace conclave::moe {

void need_of_cpus(Support& support, const MoeProblem& p, const DeviceCaps& caps, bool kernels, std::string none,
                  std::string_view kept) {
  support.need(!caps.cuda, Why::device, "runs on a CPU only");
  support.need(kernels, Why::quant, std::move(none));
  support.need(
      p.activations == kF32, Why::quant,
      fmt::format("keeps activations in {}, {} were asked for (weight-only is activations f32)", kept, to_string(p.activations)));
  support.need(p.io == DType::f32, Why::dtype, fmt::format("hidden states must be f32 on a CPU, they are {}", to_string(p.io)));
  support.need(p.router_logits == DType::f32 || p.router_logits == DType::bf16, Why::dtype,
               fmt::format("router logits must be f32 or bf16, they are {}", to_string(p.router_logits)));
}

double cpu_cost(const MoeProblem& p, const DeviceCaps& caps, std::int64_t tokens, const CpuSpeed& speed) {
  const double weights = (p.activation.gated ? 3.0 : 2.0) * p.hidden * p.inter;
  const double pairs = static_cast<double>(tokens) * p.top_k * p.local_count / std::max(p.experts, 1);
  const double active = std::min<double>(std::max(pairs, 1.0), p.local_count);
  const double bytes_us = active * weights * speed.bits_per_weight / 8.0 / speed.bytes_per_us;
  const double products_us = pairs * weights / speed.products_per_us;
  return 5.0 + std::max(bytes_us, products_us) / std::max(caps.threads, 1);
}

}  // namespace conclave::moe
