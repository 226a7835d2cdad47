// The conformance cases on a GPU: what its backends can run agrees with the reference on a CPU, twice the same. Cases are asked as
// a GPU is asked: bf16 in and out, plain weights as NVFP4. Needs a GPU: ctest -L gpu.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "base/math.h"
#include "kernels/cuda/moe/launch.h"
#include "moe/build.h"
#include "moe/device_call.h"
#include "moe/routing.h"
#include "moe/sample_call.h"
#include "moe/verify.h"
#include "tests/conformance/moe_cases.h"
#include "tests/moe/random_experts.h"
#include "tests/moe/routing_methods.h"

namespace conclave::moe {
namespace {

using Bytes = std::vector<std::byte>;

Device* gpu() {
  static const std::unique_ptr<Device> device = find_cuda_devices().empty() ? nullptr : open_cuda_device(0);
  return device.get();
}
Device& cpu() {
  static const std::unique_ptr<Device> device = open_cpu_device();
  return *device;
}

// Fewer under a checker, which is slow: CONCLAVE_QUICK=1.
std::vector<std::int64_t> token_counts() {
  if (std::getenv("CONCLAVE_QUICK") != nullptr) return {0, 1, 9};
  return {0, 1, 2, 3, 7, 8, 9, 16, 33, 64, 65, 257};
}

const MoeBackend& backend(std::string_view name) {
  for (const MoeBackend* b : builtin_backends())
    if (b->name() == name) return *b;
  check_failed("a registered backend", __FILE__, __LINE__, std::string(name));
}

MoeCase as_gpus_are_asked(MoeCase c) {
  MoeProblem& p = c.problem;
  p.io = DType::bf16;
  if (!p.weights.scaled) {
    p.weights = kNvfp4;
    p.hidden = round_up(p.hidden, 16);
    p.inter = round_up(p.inter, 16);
  }
  return c;
}

std::vector<MoeCase> gpu_cases() {
  std::vector<MoeCase> all;
  for (const MoeCase& c : all_moe_cases()) all.push_back(as_gpus_are_asked(c));
  // Sizes where rounds, chunks and groups of pairs are full: several rounds of items for a block, experts with more than eight
  // tokens.
  MoeProblem p = small_problem();
  p.io = DType::bf16;
  p.weights = kNvfp4;
  p.hidden = 2048;
  p.inter = 768;
  p.experts = p.local_count = 32;
  p.top_k = 8;
  all.push_back({"gpu_many_items", p});
  p.experts = p.local_count = 1;
  p.top_k = 1;
  p.hidden = 1024;
  p.inter = 4096;
  all.push_back({"gpu_one_expert", p});
  return all;
}

Bytes run_on_gpu(const MoeKernel& kernel, const MoeCall& host) {
  Device& device = *gpu();
  const DeviceCall copy(host, device);
  Workspace workspace(device.allocate(kernel.workspace_bytes(host.hidden.shape[0])));
  const auto stream = device.new_stream();
  kernel.run(copy.call(), workspace, *stream);
  stream->synchronize();
  EXPECT_EQ(workspace.peak(), host.hidden.shape[0] == 0 ? 0u : workspace.size());
  Bytes out(static_cast<std::size_t>(host.out.bytes()));
  copy.fetch({out.data(), host.out.dtype, host.out.shape});
  return out;
}

struct Worst {
  double part = -1.0;
  std::string cell;
};
Worst& worst_cell() {
  static Worst worst;
  return worst;
}
class PrintWorstCell : public testing::Environment {
 public:
  void TearDown() override {
    if (worst_cell().part >= 0.0)
      fmt::print("worst cell: {} ({:.1f}% of the tolerance)\n", worst_cell().cell, 100.0 * worst_cell().part);
  }
};
const auto* const kPrint = testing::AddGlobalTestEnvironment(new PrintWorstCell);

class MoeOnGpu : public testing::TestWithParam<MoeCase> {
 protected:
  void SetUp() override {
    if (gpu() == nullptr) GTEST_SKIP() << "no CUDA device can be seen: " << GetParam().name << " was not run on one";
  }
};

void expect_agreement(const MoeCase& c, const MoeKernel& kernel, const MoeKernel& judge, std::int64_t tokens, bool skewed) {
  const SampleCall sample(c.problem, tokens, 11, cpu());
  MoeCall call = sample.call();
  Bytes logits;
  if (skewed) {  // every token as the first
    const std::int64_t row = call.router_logits.stride[0] * size_of(c.problem.router_logits);
    for (std::int64_t t = 0; t < tokens; ++t) logits.insert(logits.end(), call.router_logits.data, call.router_logits.data + row);
    call.router_logits = TensorView(logits.data(), c.problem.router_logits, call.router_logits.shape);
  }
  Workspace workspace(cpu().allocate(judge.workspace_bytes(tokens)));
  judge.run(call, workspace, *cpu().new_stream());
  Bytes got = run_on_gpu(kernel, call);
  const RowError error = worst_row(TensorView(got.data(), call.out.dtype, call.out.shape), call.out);
  const double allowed = tolerance_of(c.problem) + kernel.rounding();
  const std::string cell =
      fmt::format("{}, {} tokens{}: relative error {:.2e}", c.name, tokens, skewed ? ", skewed" : "", error.error);
  EXPECT_LE(error.error, allowed) << cell << ", token " << error.row;
  if (error.error / allowed > worst_cell().part) worst_cell() = {error.error / allowed, cell};
  EXPECT_EQ(run_on_gpu(kernel, call), got) << tokens << " tokens, a second time";
}

TEST_P(MoeOnGpu, RefusesWithReasonsOrAgrees) {
  const MoeCase& c = GetParam();
  for (const MoeBackend* b : builtin_backends()) {
    const Support support = b->supports(c.problem, gpu()->caps());
    if (!support) {
      ASSERT_FALSE(support.reasons().empty());
      for (const Reason& r : support.reasons()) EXPECT_FALSE(r.text.empty());
      continue;
    }
    SCOPED_TRACE(std::string(b->name()));
    ASSERT_TRUE(backend("reference").supports(c.problem, cpu().caps())) << "there is no judge for this problem";
    const RandomExperts experts(c.problem);
    const auto kernel = b->build(c.problem, experts.weights(), *gpu());
    const auto judge = backend("reference").build(c.problem, experts.weights(), cpu());
    for (const std::int64_t tokens : token_counts()) expect_agreement(c, *kernel, *judge, tokens, false);
    expect_agreement(c, *kernel, *judge, 33, true);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoeOnGpu, testing::ValuesIn(gpu_cases()), [](const auto& param) { return param.param.name; });

TEST(MoeOnGpuGrid, MostCasesRunOnCudaLatency) {
  DeviceCaps caps;
  caps.cuda = true;
  caps.compute_capability = 90;
  int runs = 0;
  for (const MoeCase& c : gpu_cases()) runs += backend("cuda_latency").supports(c.problem, caps) ? 1 : 0;
  EXPECT_GE(runs, 50);
}

TEST(MoeBuiltOnGpu, IsVerifiedAndChosenByIntent) {
  if (gpu() == nullptr) GTEST_SKIP() << "no CUDA device can be seen: nothing was verified or chosen on one";
  MoeProblem p = small_problem();
  p.io = DType::bf16;
  p.weights = kNvfp4;
  const RandomExperts experts(p);
  for (const char* wanted : {"auto", "latency", "cuda_latency"}) {
    const BuiltMoe built = build_moe_kernel(p, experts.weights(), *gpu(), wanted);
    ASSERT_TRUE(built.verification.has_value());
    EXPECT_TRUE(built.verification->passed) << built.verification->words;
    EXPECT_EQ(built.selection.chosen->name(), "cuda_latency");
  }
}

// Ids and weights on the device, beside a kernel that takes them: the same as the reference's, whatever the logits are.
TEST(RoutingOnGpu, IsTheReferences) {
  if (gpu() == nullptr) GTEST_SKIP() << "no CUDA device can be seen: its routing was not compared with the reference";
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr int kTokens = 12;
  std::mt19937 random(5);
  Device& device = *gpu();
  const auto stream = device.new_stream();
  for (const RoutingMethod& m : kRoutingMethods)
    for (const int experts : {16, 128, 256, 1000}) {
      const int k = m.top_k != 0 ? m.top_k : 8;
      if (experts % m.spec.groups != 0 || experts / m.spec.groups * m.spec.top_groups < k) continue;
      std::vector<float> logits, bias;
      for (int i = 0; i < kTokens * experts; ++i) logits.push_back(static_cast<float>(random() % 64) * 0.25f - 8.0f);  // many ties
      for (int e = 0; e < experts; ++e) bias.push_back(static_cast<float>(random() % 32) * 0.125f - 2.0f);
      const auto row = [&](int t) { return logits.begin() + t * experts; };
      row(0)[3] = kNaN;
      row(1)[5] = kInf;
      row(2)[7] = -kInf;
      std::fill(row(3), row(4), kNaN);
      std::fill(row(4), row(5), -kInf);
      std::fill(row(5), row(6), 0.5f);
      for (auto z = row(6); z != row(7); ++z) *z = -std::abs(*z);
      std::fill(row(7), row(8), -kInf);
      row(7)[2] = 1.0f;

      const auto words = static_cast<std::size_t>(kTokens * k);
      Buffer on_logits = device.allocate(logits.size() * 4), on_bias = device.allocate(bias.size() * 4);
      Buffer on_ids = device.allocate(words * 4), on_weights = device.allocate(words * 4);
      device.copy(on_logits.data(), reinterpret_cast<const std::byte*>(logits.data()), logits.size() * 4);
      device.copy(on_bias.data(), reinterpret_cast<const std::byte*>(bias.data()), bias.size() * 4);
      cuda::RouteArgs args;
      args.logits = on_logits.data();
      args.bias = m.spec.selection_bias ? reinterpret_cast<const float*>(on_bias.data()) : nullptr;
      args.ids = reinterpret_cast<std::int32_t*>(on_ids.data());
      args.weights = reinterpret_cast<float*>(on_weights.data());
      args.logits_stride = args.experts = experts;
      args.tokens = kTokens;
      args.top_k = k;
      args.groups = m.spec.groups;
      args.top_groups = m.spec.top_groups;
      args.score = static_cast<std::uint8_t>(m.spec.score);
      args.renorm = static_cast<std::uint8_t>(m.spec.renorm);
      args.group_score = static_cast<std::uint8_t>(m.spec.group_score);
      args.select_by_logit = m.spec.select_by_logit;
      args.scale = m.spec.scale;
      cuda::launch_route(args, *stream);
      stream->synchronize();
      std::vector<std::int32_t> ids(words), expected_ids(words);
      std::vector<float> weights(words), expected(words);
      device.copy(reinterpret_cast<std::byte*>(ids.data()), on_ids.data(), words * 4);
      device.copy(reinterpret_cast<std::byte*>(weights.data()), on_weights.data(), words * 4);
      for (int t = 0; t < kTokens; ++t) {
        const auto at = static_cast<std::size_t>(t * k), n = static_cast<std::size_t>(k);
        route_row(m.spec, {&*row(t), static_cast<std::size_t>(experts)},
                  m.spec.selection_bias ? std::span<const float>(bias) : std::span<const float>(),
                  std::span(expected_ids).subspan(at, n), std::span(expected).subspan(at, n));
        for (std::size_t j = at; j < at + n; ++j) {
          ASSERT_EQ(ids[j], expected_ids[j]) << m.name << ", " << experts << " experts, token " << t << ", choice " << j - at;
          ASSERT_NEAR(weights[j], expected[j], 1e-6f * (1.0f + std::abs(expected[j]))) << m.name << ", token " << t;
        }
      }
    }
}

}  // namespace
}  // namespace conclave::moe
