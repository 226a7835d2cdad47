// Selection as a table: problems and machines, most of which are not here, against what is chosen and what is said.
#include "moe/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "conclave/error.h"
#include "moe/plans/cuda_latency.h"
#include "tests/moe/random_experts.h"

namespace conclave::moe {
namespace {

// A backend for the tables: runs on exactly the compute capabilities it lists, for the weight codes it lists.
class FakeBackend : public MoeBackend {
 public:
  FakeBackend(std::string_view name, Intent intent, std::vector<int> capabilities, std::vector<Code> codes, double decode,
              double prefill)
      : name_(name),
        intent_(intent),
        capabilities_(std::move(capabilities)),
        codes_(std::move(codes)),
        decode_(decode),
        prefill_(prefill) {}
  std::string_view name() const override { return name_; }
  Intent intent() const override { return intent_; }
  Support supports(const MoeProblem& p, const DeviceCaps& caps) const override {
    Support support = well_formed(p);
    support.need(caps.cuda, Why::device, "needs a GPU");
    support.need(!caps.cuda || std::ranges::count(capabilities_, caps.compute_capability) > 0, Why::device,
                 "not built for this capability");
    support.need(std::ranges::count(codes_, p.weights.code) > 0, Why::quant, "no kernel for " + to_string(p.weights));
    return support;
  }
  double cost(const MoeProblem&, const DeviceCaps&, std::int64_t tokens) const override { return tokens == 1 ? decode_ : prefill_; }
  std::unique_ptr<MoeKernel> build(const MoeProblem&, const ExpertWeights&, Device&) const override { return nullptr; }

 private:
  std::string_view name_;
  Intent intent_;
  std::vector<int> capabilities_;
  std::vector<Code> codes_;
  double decode_, prefill_;
};

const FakeBackend kFusedFp4("fused_fp4", Intent::latency, {100, 103}, {Code::e2m1}, 5, 900);
const FakeBackend kGroupedFp4("grouped_fp4", Intent::throughput, {100, 103, 120, 121}, {Code::e2m1}, 20, 100);
const FakeBackend kGroupedFp8("grouped_fp8", Intent::throughput, {89, 90, 100, 103, 120, 121}, {Code::f8e4m3}, 20, 120);
const FakeBackend kWeightOnly("weight_only", Intent::general, {80, 89, 90, 100, 103, 120, 121},
                              {Code::bf16, Code::f8e4m3, Code::e2m1, Code::int4}, 15, 400);

std::vector<const MoeBackend*> all_backends() {
  std::vector<const MoeBackend*> all(builtin_backends().begin(), builtin_backends().end());
  for (const MoeBackend* fake : {static_cast<const MoeBackend*>(&kFusedFp4), static_cast<const MoeBackend*>(&kGroupedFp4),
                                 static_cast<const MoeBackend*>(&kGroupedFp8), static_cast<const MoeBackend*>(&kWeightOnly)})
    all.push_back(fake);
  return all;
}

DeviceCaps gpu(int capability) {
  DeviceCaps caps;
  caps.name = "GPU";
  caps.cuda = true;
  caps.compute_capability = capability;
  return caps;
}
DeviceCaps cpu() {
  DeviceCaps caps;
  caps.name = "CPU";
  caps.isa = CpuIsa::avx2;
  caps.threads = 2;
  return caps;
}
DeviceCaps machine(int capability) { return capability == 0 ? cpu() : gpu(capability); }

MoeProblem problem_of(const QuantScheme& weights) {
  MoeProblem p = small_problem();
  p.hidden = p.inter = 128;
  p.weights = weights;
  return p;
}

std::string chosen(const Selection& s) { return s.chosen != nullptr ? std::string(s.chosen->name()) : ""; }

TEST(Selection, TheDefaultIsAuto) {
  EXPECT_EQ(kDefaultBackend, "auto");
  const Selection by_default = select_backend(problem_of(kBf16), cpu(), all_backends());
  EXPECT_EQ(by_default.wanted, "auto");
  EXPECT_EQ(chosen(by_default), chosen(select_backend(problem_of(kBf16), cpu(), all_backends(), "auto")));
}

// Every machine and format: a backend, or a reason from every one of them.
TEST(Selection, ChoosesByExactCapabilityForEveryFormat) {
  struct Row {
    QuantScheme weights;
    std::map<int, std::string> expected;  // capability (0: CPU) -> auto's choice
  };
  const std::map<int, std::string> fp4 = {{0, "cpu_latency"}, {80, "weight_only"}, {89, "weight_only"},  {90, "weight_only"},
                                          {100, "fused_fp4"}, {103, "fused_fp4"},  {120, "weight_only"}, {121, "weight_only"}};
  const std::map<int, std::string> others = {{0, "cpu_pipeline"},  {80, "weight_only"},  {89, "weight_only"},
                                             {90, "weight_only"},  {100, "weight_only"}, {103, "weight_only"},
                                             {120, "weight_only"}, {121, "weight_only"}};
  std::map<int, std::string> int4 = others;
  int4[0] = "cpu_latency";
  const Row rows[] = {{kBf16, others}, {kFp8Block128, others}, {kFp8Channel, others}, {kFp8Tensor, others},
                      {kNvfp4, fp4},   {kMxfp4, fp4},          {kInt4Group128, int4}, {kInt4Group128Zero, int4}};
  for (const Row& row : rows)
    for (const auto& [capability, name] : row.expected) {
      const Selection s = select_backend(problem_of(row.weights), machine(capability), all_backends());
      EXPECT_EQ(chosen(s), name) << to_string(row.weights) << " on " << capability << '\n' << s.explain();
      EXPECT_EQ(s.considered.size(), all_backends().size());
      for (const Candidate& c : s.considered)
        for (const Reason& r : c.support.reasons()) EXPECT_FALSE(r.text.empty()) << c.backend->name();
    }
}

// The kernel of GPUs that is there: by exact capability, format and type of hidden states, with a reason wherever it is not.
TEST(Selection, CudaLatencyTakesFourBitsOnNinePointZero) {
  const auto backends = builtin_backends();
  for (const QuantScheme& weights : {kNvfp4, kMxfp4, kBf16, kFp8Block128, kInt4Group128})
    for (const int capability : {0, 80, 89, 90, 100, 103, 120, 121}) {
      MoeProblem p = problem_of(weights);
      p.hidden = 7168;  // too large for the reference to step in
      p.inter = 2048;
      p.io = DType::bf16;
      const Selection s = select_backend(p, machine(capability), backends);
      const bool can = capability == 90 && weights.code == Code::e2m1;
      EXPECT_EQ(chosen(s), can ? "cuda_latency" : "") << to_string(weights) << " on " << capability << '\n' << s.explain();
      EXPECT_EQ(chosen(select_backend(p, machine(capability), backends, "latency")), can ? "cuda_latency" : "");
    }
}

TEST(Selection, CudaLatencySaysWhatItCannot) {
  const auto backends = builtin_backends();
  const auto backend = std::ranges::find(backends, "cuda_latency", &MoeBackend::name);
  ASSERT_NE(backend, backends.end());
  MoeProblem p = problem_of(kNvfp4);
  p.io = DType::bf16;
  EXPECT_TRUE((*backend)->supports(p, gpu(90)));
  EXPECT_LT((*backend)->cost(p, gpu(90), 1), (*backend)->cost(p, gpu(90), 64));
  const auto reason = [&](const MoeProblem& problem) {
    const Support support = (*backend)->supports(problem, gpu(90));
    return support.reasons().size() == 1 ? to_string(support.reasons()[0].why) : std::string_view("not one reason");
  };
  MoeProblem other = p;
  other.io = DType::f32;
  EXPECT_EQ(reason(other), to_string(Why::dtype));
  other = p;
  other.activations = kNvfp4Activation;
  EXPECT_EQ(reason(other), to_string(Why::quant));
  other = p;
  other.deterministic = true;
  EXPECT_EQ(reason(other), to_string(Why::determinism));
  other = p;
  other.experts = other.local_count = 64;
  other.top_k = 33;
  EXPECT_EQ(reason(other), to_string(Why::routing));
  other = p;
  other.weights = kMxfp4;
  other.hidden = 136;
  EXPECT_EQ((*backend)->supports(other, gpu(90)).reasons().back().why, Why::shape);
}

TEST(CudaLatencyPlan, PartsOfDownAreEqualAndLong) {
  MoeProblem p = problem_of(kNvfp4);
  p.hidden = 5120;
  p.inter = 8192;
  p.experts = p.local_count = 16;
  p.top_k = 1;
  EXPECT_EQ(cuda_down_chunks(p, 1, 132), 4);  // 160 items would leave most blocks waiting for a second one
  for (const int inter : {16, 768, 1536, 2048, 2880, 8192})
    for (const std::int64_t tokens : {1, 4, 64}) {
      p.inter = inter;
      const std::int64_t chunks = cuda_down_chunks(p, tokens, 132), units = (inter + 127) / 128;
      EXPECT_EQ(units % chunks, 0);
      EXPECT_TRUE(chunks == 1 || units / chunks >= 8);
    }
  p.top_k = 8;
  EXPECT_EQ(cuda_latency_tokens(p), 64);
  p.top_k = 16;
  EXPECT_EQ(cuda_latency_tokens(p), 32);
  EXPECT_NEAR(expected_active_experts(p, 1), 16.0, 1e-9);
}

TEST(Selection, IntentsTakeTheBestOfTheirKindElseTheGeneral) {
  const auto choose = [](const QuantScheme& weights, int capability, std::string_view wanted) {
    return chosen(select_backend(problem_of(weights), machine(capability), all_backends(), wanted));
  };
  EXPECT_EQ(choose(kNvfp4, 100, "latency"), "fused_fp4");
  EXPECT_EQ(choose(kNvfp4, 100, "throughput"), "grouped_fp4");
  EXPECT_EQ(choose(kNvfp4, 120, "latency"), "weight_only");
  EXPECT_EQ(choose(kNvfp4, 120, "throughput"), "grouped_fp4");
  EXPECT_EQ(choose(kFp8Block128, 90, "throughput"), "grouped_fp8");
  EXPECT_EQ(choose(kFp8Block128, 80, "throughput"), "weight_only");
  EXPECT_EQ(choose(kNvfp4, 0, "latency"), "cpu_latency");
  EXPECT_EQ(choose(kBf16, 0, "latency"), "cpu_pipeline");
  EXPECT_EQ(choose(kNvfp4, 0, "throughput"), "cpu_latency");
  EXPECT_EQ(choose(kFp8Block128, 0, "throughput"), "cpu_pipeline");
}

TEST(Selection, NamesAreTakenInEverySpelling) {
  for (const char* name : {"cpu_pipeline", "CPU-Pipeline", "cpu-pipeline"})
    EXPECT_EQ(chosen(select_backend(problem_of(kBf16), cpu(), all_backends(), name)), "cpu_pipeline") << name;
  EXPECT_EQ(chosen(select_backend(problem_of(kBf16), cpu(), all_backends(), "Reference")), "reference");
}

std::string error_of(const MoeProblem& p, const DeviceCaps& caps, std::string_view wanted, Errc code) {
  try {
    (void)select_backend(p, caps, all_backends(), wanted);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "accepted " << wanted;
  return "";
}

TEST(Selection, ANamedBackendThatCannotIsAnErrorWithAllReasons) {
  MoeProblem p = problem_of(kBf16);
  const std::string words = error_of(p, cpu(), "fused_fp4", Errc::unsupported);
  EXPECT_NE(words.find("device (needs a GPU)"), std::string::npos) << words;
  EXPECT_NE(words.find("quant (no kernel for bf16)"), std::string::npos) << words;
}

TEST(Selection, AnUnknownNameIsAnErrorThatNamesTheNearest) {
  const std::string words = error_of(problem_of(kBf16), cpu(), "latnecy", Errc::bad_input);
  EXPECT_NE(words.find("'latency'"), std::string::npos) << words;
  EXPECT_NE(words.find("cpu_pipeline"), std::string::npos) << words;
  error_of(problem_of(kBf16), cpu(), "", Errc::bad_input);
}

TEST(Selection, TheReferenceStepsInOnlyForTheTiny) {
  MoeProblem p = problem_of(kNvfp4);
  p.activations = kNvfp4Activation;  // only the reference rounds activations on a CPU
  EXPECT_EQ(chosen(select_backend(p, cpu(), all_backends())), "reference");
  p.hidden = 7168;
  p.inter = 2048;
  const Selection s = select_backend(p, cpu(), all_backends());
  EXPECT_EQ(s.chosen, nullptr);
  EXPECT_NE(s.explain().find("no backend can run this problem"), std::string::npos);
  EXPECT_EQ(chosen(select_backend(p, cpu(), all_backends(), "reference")), "reference");
}

TEST(Selection, ExplainsEveryCandidate) {
  const Selection s = select_backend(problem_of(kNvfp4), cpu(), all_backends());
  const std::string words = s.explain();
  EXPECT_EQ(std::ranges::count(words, '\n'), static_cast<std::ptrdiff_t>(all_backends().size())) << words;
  EXPECT_NE(words.find("* cpu_latency: can, "), std::string::npos) << words;
  EXPECT_NE(words.find("  reference: can, "), std::string::npos) << words;
  EXPECT_NE(words.find("  fused_fp4: device (needs a GPU)"), std::string::npos) << words;
}

TEST(Selection, ARefusedChoiceGivesWayToTheNext) {
  Selection s = select_backend(problem_of(kNvfp4), gpu(100), all_backends());
  ASSERT_EQ(chosen(s), "fused_fp4");
  s.refuse_chosen(Why::build, "computes nonsense");
  EXPECT_EQ(chosen(s), "weight_only");
  EXPECT_NE(s.explain().find("fused_fp4: build (computes nonsense)"), std::string::npos) << s.explain();
  Selection named = select_backend(problem_of(kNvfp4), gpu(100), all_backends(), "fused_fp4");
  EXPECT_THROW(named.refuse_chosen(Why::build, "computes nonsense"), Error);
}

TEST(Selection, CpuPipelineSaysWhyItKeepsActivations) {
  MoeProblem p = problem_of(kFp8Block128);
  p.activations = kFp8Token128;
  p.io = DType::bf16;
  const auto backends = builtin_backends();
  const auto pipeline = std::ranges::find(backends, "cpu_pipeline", &MoeBackend::name);
  ASSERT_NE(pipeline, backends.end());
  const Support support = (*pipeline)->supports(p, cpu());
  ASSERT_EQ(support.reasons().size(), 2u);
  EXPECT_EQ(support.reasons()[0].why, Why::quant);
  EXPECT_EQ(support.reasons()[1].why, Why::dtype);
}

}  // namespace
}  // namespace conclave::moe
