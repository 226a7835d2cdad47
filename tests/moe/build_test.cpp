// The whole decision for a layer, with backends that compute wrong on purpose.
#include "moe/build.h"

#include <gtest/gtest.h>

#include <limits>

#include "conclave/error.h"
#include "tests/moe/random_experts.h"

namespace conclave::moe {
namespace {

const MoeBackend& pipeline() {
  for (const MoeBackend* b : builtin_backends())
    if (b->name() == "cpu_pipeline") return *b;
  check_failed("cpu_pipeline is registered", __FILE__, __LINE__, "");
}

// What a broken kernel does to a right result.
enum class Fault { none, one_column_doubled, one_token_unwritten, nan };

class FaultyKernel final : public MoeKernel {
 public:
  FaultyKernel(std::unique_ptr<MoeKernel> right, Fault fault) : right_(std::move(right)), fault_(fault) {}
  std::size_t workspace_bytes(std::int64_t tokens) const override { return right_->workspace_bytes(tokens); }
  void run(const MoeCall& call, Workspace& workspace, Stream& stream) const noexcept override {
    MoeCall shorter = call;
    const std::int64_t tokens = call.hidden.shape[0];
    if (fault_ == Fault::one_token_unwritten) {
      shorter.hidden = call.hidden.rows(0, tokens - 1);
      shorter.router_logits = call.router_logits.rows(0, tokens - 1);
    }
    right_->run(shorter, workspace, stream);
    if (fault_ == Fault::one_column_doubled)
      for (std::int64_t t = 0; t < tokens; ++t) call.out.row<float>(t)[3] *= 2.0f;
    if (fault_ == Fault::nan) call.out.row<float>(0)[0] = std::numeric_limits<float>::quiet_NaN();
  }
  std::string describe() const override { return "faulty"; }

 private:
  std::unique_ptr<MoeKernel> right_;
  Fault fault_;
};

// Cheaper than everything else, so that auto takes it first.
class FaultyBackend final : public MoeBackend {
 public:
  explicit FaultyBackend(Fault fault) : fault_(fault) {}
  std::string_view name() const override { return "faulty"; }
  Intent intent() const override { return Intent::latency; }
  Support supports(const MoeProblem& p, const DeviceCaps& caps) const override { return pipeline().supports(p, caps); }
  double cost(const MoeProblem&, const DeviceCaps&, std::int64_t) const override { return 0.0; }
  std::unique_ptr<MoeKernel> build(const MoeProblem& p, const ExpertWeights& w, Device& d) const override {
    return std::make_unique<FaultyKernel>(pipeline().build(p, w, d), fault_);
  }

 private:
  Fault fault_;
};

class BuildTest : public testing::Test {
 protected:
  BuiltMoe build(Fault fault, std::string_view wanted, bool verify = true) {
    const FaultyBackend faulty(fault);
    std::vector<const MoeBackend*> backends(builtin_backends().begin(), builtin_backends().end());
    backends.push_back(&faulty);
    BuiltMoe built = build_moe_kernel(problem_, experts_.weights(), *device_, wanted, verify, backends);
    chosen_ = built.selection.chosen->name();
    explained_ = built.selection.explain();
    return built;
  }
  MoeProblem problem_ = small_problem();
  RandomExperts experts_{problem_};
  std::unique_ptr<Device> device_ = open_cpu_device(2);
  std::string chosen_, explained_;
};

TEST_F(BuildTest, ARightKernelIsVerified) {
  const BuiltMoe built = build(Fault::none, "faulty");
  ASSERT_TRUE(built.verification.has_value());
  EXPECT_TRUE(built.verification->passed);
  EXPECT_LE(built.verification->relative_error, built.verification->tolerance);
  EXPECT_NE(built.verification->words.find("agrees with the reference"), std::string::npos);
}

TEST_F(BuildTest, AWrongKernelIsCaughtInOneSentence) {
  for (const Fault fault : {Fault::one_column_doubled, Fault::one_token_unwritten, Fault::nan}) {
    const FaultyBackend faulty(fault);
    const auto kernel = faulty.build(problem_, experts_.weights(), *device_);
    const Verification v = verify_kernel(problem_, experts_.weights(), *kernel, *device_);
    EXPECT_FALSE(v.passed) << static_cast<int>(fault);
    EXPECT_NE(v.words.find("gives wrong results"), std::string::npos) << v.words;
    EXPECT_EQ(v.words.find('\n'), std::string::npos);
  }
}

TEST_F(BuildTest, AutoGoesOnToTheNextBackend) {
  const BuiltMoe built = build(Fault::one_column_doubled, "auto");
  EXPECT_EQ(chosen_, "cpu_pipeline");
  EXPECT_TRUE(built.verification->passed);
  EXPECT_NE(explained_.find("faulty: build (gives wrong results"), std::string::npos) << explained_;
}

TEST_F(BuildTest, ANamedBackendThatIsWrongIsAnError) {
  try {
    build(Fault::nan, "faulty");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_NE(std::string(error.what()).find("gives wrong results"), std::string::npos) << error.what();
  }
}

TEST_F(BuildTest, VerificationCanBeSkipped) {
  const BuiltMoe built = build(Fault::nan, "auto", false);
  EXPECT_EQ(chosen_, "faulty");
  EXPECT_FALSE(built.verification.has_value());
}

TEST_F(BuildTest, NothingThatCanIsAnErrorWithEveryReason) {
  MoeProblem p = problem_;
  p.io = DType::f16;
  try {
    (void)build_moe_kernel(p, experts_.weights(), *device_);
    FAIL() << "accepted";
  } catch (const Error& error) {
    for (const MoeBackend* b : builtin_backends())
      EXPECT_NE(std::string(error.what()).find(b->name()), std::string::npos) << error.what();
  }
}

TEST(Tolerance, GrowsWithSumsAndCoarserFormats) {
  MoeProblem p = small_problem();
  const double small = tolerance_of(p);
  EXPECT_GT(small, 1e-6);
  EXPECT_LT(small, 1e-4);
  p.hidden = 7168;
  EXPECT_GT(tolerance_of(p), small);
  EXPECT_LT(tolerance_of(p), 2e-4);
  const double f32 = tolerance_of(p);
  p.activations = kFp8Token128;
  EXPECT_GT(tolerance_of(p), f32);
  p.activations = kF32;
  p.io = DType::bf16;
  EXPECT_GT(tolerance_of(p), f32);
}

}  // namespace
}  // namespace conclave::moe
