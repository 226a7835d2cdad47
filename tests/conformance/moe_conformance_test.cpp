// What every MoE backend must do, whatever it is: refuse with reasons, or agree with the reference on every number of tokens, twice
// the same, and with `deterministic` the same whether a token comes alone or in a batch. A new backend needs nothing here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "moe/backend.h"
#include "moe/sample_call.h"
#include "moe/verify.h"
#include "tests/conformance/moe_cases.h"
#include "tests/moe/random_experts.h"
#include "tests/sanitized.h"

namespace conclave::moe {
namespace {

const std::vector<std::int64_t> kTokens =
    kSanitized ? std::vector<std::int64_t>{0, 1, 9} : std::vector<std::int64_t>{0, 1, 2, 3, 7, 8, 33, 64, 257};

// A CPU whose caps are lowered to a set of kernels, so that each set is judged and not the best one only.
class LoweredDevice final : public Device {
 public:
  LoweredDevice(Device& device, CpuIsa isa) : device_(device), caps_(device.caps()) { caps_.isa = isa; }
  const DeviceCaps& caps() const noexcept override { return caps_; }
  Buffer allocate(std::size_t bytes) override { return device_.allocate(bytes); }
  std::unique_ptr<Stream> new_stream() override { return device_.new_stream(); }

 private:
  Device& device_;
  DeviceCaps caps_;
};

Device& cpu() {
  static const std::unique_ptr<Device> device = open_cpu_device(2);
  return *device;
}

// The worst cell of each backend, printed at the end: error as a part of what is allowed.
struct Worst {
  double part = -1.0;
  std::string cell;
};
std::map<std::string, Worst>& worst_cells() {
  static std::map<std::string, Worst> all;
  return all;
}

class PrintWorstCells : public testing::Environment {
 public:
  void TearDown() override {
    for (const auto& [backend, worst] : worst_cells())
      fmt::print("worst cell of {}: {} ({:.1f}% of the tolerance)\n", backend, worst.cell, 100.0 * worst.part);
  }
};
const auto* const kPrint = testing::AddGlobalTestEnvironment(new PrintWorstCells);

// Inputs of one number of tokens and the reference's answer. Skewed: every token asks for the same experts, the rest stay empty.
struct Judged {
  Judged(const MoeProblem& p, std::int64_t tokens, bool skewed) : sample(p, tokens, 11, cpu()), call(sample.call()) {
    if (!skewed) return;
    const std::int64_t row = call.router_logits.stride[0] * size_of(p.router_logits);
    logits.resize(static_cast<std::size_t>(tokens * row));
    for (std::int64_t t = 0; t < tokens; ++t)
      std::memcpy(logits.data() + t * row, call.router_logits.data, static_cast<std::size_t>(row));
    call.router_logits = TensorView(logits.data(), p.router_logits, call.router_logits.shape);
  }
  SampleCall sample;
  std::vector<std::byte> logits;
  MoeCall call;
};

using Bytes = std::vector<std::byte>;

// Runs into memory that holds NaN, and returns what was written.
Bytes run(const MoeKernel& kernel, MoeCall call, Device& device) {
  Bytes out(static_cast<std::size_t>(call.out.bytes()), std::byte{0xff});
  call.out.data = out.data();
  Workspace workspace(device.allocate(kernel.workspace_bytes(call.hidden.shape[0])));
  const auto stream = device.new_stream();
  kernel.run(call, workspace, *stream);
  stream->synchronize();
  return out;
}

TensorView view(Bytes& bytes, const MoeCall& call) { return {bytes.data(), call.out.dtype, call.out.shape}; }

MoeCall token_of(const MoeCall& call, std::int64_t t) {
  MoeCall one = call;
  one.hidden = call.hidden.rows(t, 1);
  one.router_logits = call.router_logits.rows(t, 1);
  one.out = call.out.rows(t, 1);
  return one;
}

class MoeConformance : public testing::TestWithParam<MoeCase> {
 protected:
  const MoeProblem& problem() const { return GetParam().problem; }

  static const MoeBackend& reference() {
    for (const MoeBackend* b : builtin_backends())
      if (b->intent() == Intent::reference) return *b;
    check_failed("a reference is registered", __FILE__, __LINE__, "");
  }

  static void expect_reasons(const Support& support) {
    ASSERT_FALSE(support.reasons().empty());
    for (const Reason& r : support.reasons()) EXPECT_FALSE(r.text.empty());
  }

  void expect_agreement(const std::string& name, const MoeKernel& kernel, Bytes& got, Bytes& expected, const MoeCall& call,
                        std::string_view what) {
    const double allowed = tolerance_of(problem()) + kernel.rounding();
    const RowError error = worst_row(view(got, call), view(expected, call));
    const std::string cell =
        fmt::format("{}, {} tokens{}: relative error {:.2e}", GetParam().name, call.hidden.shape[0], what, error.error);
    EXPECT_LE(error.error, allowed) << cell << ", token " << error.row;
    const double part = error.error / allowed;
    Worst& worst = worst_cells()[name];
    if (part > worst.part) worst = {part, cell};
  }

  void expect_batch_invariance(const MoeKernel& kernel, const Bytes& batch, const MoeCall& call, Device& device) {
    const auto row = batch.size() / static_cast<std::size_t>(call.hidden.shape[0]);
    for (std::int64_t t = 0; t < call.hidden.shape[0]; ++t) {
      const Bytes alone = run(kernel, token_of(call, t), device);
      ASSERT_EQ(std::memcmp(alone.data(), batch.data() + static_cast<std::size_t>(t) * row, row), 0)
          << "token " << t << " of " << call.hidden.shape[0];
    }
  }

  // One backend on one device, against answers that the reference gave.
  void judge(const MoeBackend& backend, Device& device, const RandomExperts& experts, std::vector<Judged>& judged,
             std::vector<Bytes>& answers) {
    const std::string name = fmt::format("{} ({})", backend.name(), to_string(device.caps().isa));
    SCOPED_TRACE(name);
    const auto kernel = backend.build(problem(), experts.weights(), device);
    EXPECT_FALSE(kernel->describe().empty());
    MoeProblem strict = problem();
    strict.deterministic = true;
    const bool invariant = static_cast<bool>(backend.supports(strict, device.caps()));
    for (std::size_t i = 0; i < judged.size(); ++i) {
      const MoeCall& call = judged[i].call;
      const std::int64_t tokens = call.hidden.shape[0];
      Bytes got = run(*kernel, call, device);
      expect_agreement(name, *kernel, got, answers[i], call, judged[i].logits.empty() ? "" : ", skewed");
      ASSERT_EQ(run(*kernel, call, device), got) << tokens << " tokens, a second time";
      if (invariant && tokens > 1 && tokens <= 33) expect_batch_invariance(*kernel, got, call, device);
    }
  }
};

TEST_P(MoeConformance, RefusesWithReasonsOrAgrees) {
  std::vector<const MoeBackend*> able;
  for (const MoeBackend* b : builtin_backends()) {
    const Support support = b->supports(problem(), cpu().caps());
    if (support)
      able.push_back(b);
    else
      expect_reasons(support);
  }
  if (able.empty()) return;  // nobody can, and everybody said why
  ASSERT_TRUE(reference().supports(problem(), cpu().caps())) << "there is no judge for this problem";

  const RandomExperts experts(problem());
  std::vector<Judged> judged;
  judged.reserve(kTokens.size() + 1);
  for (const std::int64_t tokens : kTokens) judged.emplace_back(problem(), tokens, false);
  judged.emplace_back(problem(), kSanitized ? 7 : 33, true);
  const auto judge_kernel = reference().build(problem(), experts.weights(), cpu());
  std::vector<Bytes> answers;
  for (const Judged& j : judged) answers.push_back(run(*judge_kernel, j.call, cpu()));

  for (const MoeBackend* b : able)
    for (int isa = 0; isa <= static_cast<int>(cpu().caps().isa); ++isa) {
      if (b->intent() == Intent::reference && isa != 0) continue;
      LoweredDevice device(cpu(), static_cast<CpuIsa>(isa));
      judge(*b, device, experts, judged, answers);
    }
}

INSTANTIATE_TEST_SUITE_P(All, MoeConformance, testing::ValuesIn(all_moe_cases()),
                         [](const auto& param) { return param.param.name; });

// The grid is worth something only while most of it runs.
TEST(MoeConformanceGrid, MostProblemsRunOnTheCpuPipeline) {
  int runs = 0, refused = 0;
  for (const MoeCase& c : all_moe_cases())
    for (const MoeBackend* b : builtin_backends())
      if (b->name() == "cpu_pipeline") ++(b->supports(c.problem, cpu().caps()) ? runs : refused);
  EXPECT_GE(runs, 55);
  EXPECT_GE(refused, 8);
}

}  // namespace
}  // namespace conclave::moe
