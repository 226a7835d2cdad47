#include "moe/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "moe/device_call.h"
#include "moe/sample_call.h"

namespace conclave::moe {
namespace {

constexpr std::uint64_t kSeed = 1;

const MoeBackend& judge() {
  const auto all = builtin_backends();
  const auto at = std::ranges::find(all, Intent::reference, &MoeBackend::intent);
  CONCLAVE_CHECK(at != all.end());
  return **at;
}

// 1 to 4 tokens: the judge decodes every weight of every expert that is hit, so large layers are asked for less.
std::int64_t tokens_for(const MoeProblem& p) {
  constexpr std::int64_t kProducts = std::int64_t{1} << 25;  // some tens of milliseconds
  const std::int64_t per_token = std::int64_t{3} * p.hidden * p.inter * p.top_k;
  return std::min<std::int64_t>(std::clamp<std::int64_t>(kProducts / per_token, 1, 4), p.max_tokens);
}

void run(const MoeKernel& kernel, const MoeCall& call, std::int64_t tokens, Device& device) {
  Workspace workspace(device.allocate(kernel.workspace_bytes(tokens)));
  const auto stream = device.new_stream();
  kernel.run(call, workspace, *stream);
  stream->synchronize();
}

// A device with memory of its own gets a copy of the call.
void run(const MoeKernel& kernel, const SampleCall& sample, std::int64_t tokens, Device& device) {
  if (!device.caps().cuda) return run(kernel, sample.call(), tokens, device);
  const DeviceCall copy(sample.call(), device);
  run(kernel, copy.call(), tokens, device);
  copy.fetch(sample.out());
}

// How wrong a format of activations may make a result that is right. Measured on reference layers: rounding an expert's inner
// values to bf16 before they are quantised flips codes worth 0.7-1.4% (fp8) and 1.2-3.7% (4 bits).
double epsilon_of(const QuantScheme& activations) {
  switch (activations.code) {
    case Code::f32: return 0.0;
    case Code::f16:
    case Code::bf16: return 0x1p-7;
    case Code::f8e4m3: return 0.02;
    case Code::e2m1:
    case Code::int4: return 0.05;
  }
  return 0.0;
}

}  // namespace

double tolerance_of(const MoeProblem& p) {
  const double sums = 16.0 * 0x1p-24 * (std::sqrt(static_cast<double>(p.hidden)) + std::sqrt(static_cast<double>(p.inter)));
  return sums + epsilon_of(p.activations) + (p.io == DType::f32 ? 0.0 : 0x1p-8);
}

RowError worst_row(const ConstTensorView& got, const ConstTensorView& expected) {
  RowError worst;
  for (std::int64_t t = 0; t < expected.shape[0]; ++t) {
    double difference = 0.0, size = 0.0;
    for (std::int64_t i = 0; i < expected.shape[1]; ++i) {
      const double g = value_at(got, t, i), e = value_at(expected, t, i);
      difference += (g - e) * (g - e);
      size += e * e;
    }
    const double error = difference == 0.0 ? 0.0 : std::sqrt(difference / size);
    if (worst.row < 0 || !(error <= worst.error)) worst = {t, error};
    if (std::isnan(error)) break;
  }
  return worst;
}

Verification verify_kernel(const MoeProblem& problem, const ExpertWeights& weights, const MoeKernel& kernel, Device& device) {
  const std::int64_t tokens = tokens_for(problem);
  const std::unique_ptr<Device> processor = device.caps().cuda ? open_cpu_device() : nullptr;  // the judge runs on no other
  Device& host = processor ? *processor : device;
  const SampleCall got(problem, tokens, kSeed, host), expected(problem, tokens, kSeed, host);
  run(kernel, got, tokens, device);
  run(*judge().build(problem, weights, host), expected, tokens, host);

  const RowError worst = worst_row(got.out(), expected.out());
  const double allowed = tolerance_of(problem) + kernel.rounding();
  Verification result{worst.error <= allowed, worst.error, allowed, {}};  // NaN does not pass
  result.words = result.passed ? fmt::format("agrees with the reference to {:.1e} on {} tokens ({:.1e} is allowed)",
                                             result.relative_error, tokens, result.tolerance)
                               : fmt::format("gives wrong results: {:.1e} off the reference on a test token, {:.1e} is allowed",
                                             result.relative_error, result.tolerance);
  return result;
}

}  // namespace conclave::moe
