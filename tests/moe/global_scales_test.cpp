// NVFP4 experts whose gate and up have global scales of their own: every backend against weights that are decoded and multiplied in
// float64 here, by none of the engine's loops.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "moe/backend.h"
#include "moe/sample_call.h"
#include "moe/verify.h"
#include "quant/codec.h"
#include "tests/moe/random_experts.h"

namespace conclave::moe {
namespace {

using Vector = std::vector<double>;

Vector product(const QuantMatrix& m, const Vector& x) {
  Vector out(static_cast<std::size_t>(m.rows));
  std::vector<float> row(static_cast<std::size_t>(m.cols));
  for (std::size_t r = 0; r < out.size(); ++r) {
    codec_for(m.scheme).decode_row(m, static_cast<std::int64_t>(r), row);
    for (std::size_t c = 0; c < row.size(); ++c) out[r] += double{row[c]} * x[c];
  }
  return out;
}

// The sum over the chosen experts of weight * down(silu(gate x) * up x).
Vector answer(const MoeProblem& p, const ExpertWeights& weights, const MoeCall& call, std::int64_t token) {
  const auto row = [&](const ConstTensorView& view) {
    return std::vector<float>(view.row<float>(token), view.row<float>(token) + view.shape[1]);
  };
  std::vector<std::int32_t> ids(static_cast<std::size_t>(p.top_k));
  std::vector<float> factors(ids.size());
  route_row(p.routing, row(call.router_logits), {}, ids, factors);
  const std::vector<float> hidden = row(call.hidden);
  const Vector x(hidden.begin(), hidden.end());
  Vector out(x.size());
  for (std::size_t j = 0; j < ids.size(); ++j) {
    const Expert& expert = weights.experts[static_cast<std::size_t>(ids[j])];
    Vector inner = product(expert.gate, x);
    const Vector up = product(expert.up, x);
    for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= up[i] / (1 + std::exp(-inner[i]));
    const Vector down = product(expert.down, inner);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += double{factors[j]} * down[i];
  }
  return out;
}

TEST(GlobalScales, B001_EachHalfIsScaledByItsOwnOnEveryBackend) {
  MoeProblem p = small_problem();
  p.hidden = 256;
  p.inter = 128;
  p.weights = kNvfp4;
  RandomExperts experts(p);
  constexpr std::array<float, 4> kRatios = {0.25f, 1.0f, 4.0f, 10.0f};
  for (std::size_t e = 0; e < 8; ++e) {
    Expert& expert = experts.weights().experts[e];
    expert.up.global = kRatios[e % 4] * expert.gate.global;
  }
  const auto device = open_cpu_device(2);
  constexpr std::int64_t kTokens = 9;
  const SampleCall sample(p, kTokens, 3, *device);
  Vector expected;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const Vector row = answer(p, experts.weights(), sample.call(), t);
    expected.insert(expected.end(), row.begin(), row.end());
  }
  const TensorView judge(reinterpret_cast<std::byte*>(expected.data()), DType::f64, {kTokens, p.hidden});

  int backends = 0;
  for (const MoeBackend* b : builtin_backends()) {
    if (!b->supports(p, device->caps())) continue;
    ++backends;
    const auto kernel = b->build(p, experts.weights(), *device);
    Workspace workspace(device->allocate(kernel->workspace_bytes(kTokens)));
    const auto stream = device->new_stream();
    kernel->run(sample.call(), workspace, *stream);
    EXPECT_LE(worst_row(sample.out(), judge).error, tolerance_of(p) + kernel->rounding()) << b->name();
  }
  EXPECT_GE(backends, 3);
}

}  // namespace
}  // namespace conclave::moe
