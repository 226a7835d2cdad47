// The parts of the pipeline by themselves: grouping, tiles, stray ids, experts that live elsewhere, threads, memory.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

#include "moe/backends/reference.h"
#include "moe/pipeline/experts.h"
#include "moe/pipeline/grouping.h"
#include "moe/plans/cpu_tiles.h"
#include "moe/sample_call.h"
#include "moe/verify.h"
#include "tests/moe/random_experts.h"

namespace {
std::atomic<std::int64_t> allocations = 0;
}

// Counts what anything in this program takes from the heap. Not inlined: the compiler would see free() beside a new of its own.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace conclave::moe {
namespace {

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min(), kMax = std::numeric_limits<std::int32_t>::max();

TEST(Grouping, B042_IsStableAndSkipsStrayIds) {
  const std::array<std::int32_t, 10> ids = {2, 0, kMax, 2, -1, 3, kMin, 2, 0, 4};  // four experts, top 2
  std::array<std::int32_t, 5> begin{};
  std::array<std::int32_t, 10> token_of{}, row_of{};
  std::array<std::int32_t, 4> active{};
  Grouping g{begin, token_of, row_of, active};
  group_by_expert(ids, 2, g);
  EXPECT_EQ(begin, (std::array<std::int32_t, 5>{0, 2, 2, 5, 6}));
  EXPECT_EQ(row_of, (std::array<std::int32_t, 10>{2, 0, -1, 3, -1, 5, -1, 4, 1, -1}));
  EXPECT_EQ(std::vector<std::int32_t>(token_of.begin(), token_of.begin() + 6), (std::vector<std::int32_t>{0, 4, 0, 1, 3, 2}));
  ASSERT_EQ(g.active_count, 3);
  EXPECT_EQ((std::vector<std::int32_t>{active[0], active[1], active[2]}), (std::vector<std::int32_t>{0, 2, 3}));
}

TEST(Grouping, NothingValidGroupsNothing) {
  const std::array<std::int32_t, 2> ids = {-1, 7};
  std::array<std::int32_t, 2> begin{9, 9}, token_of{}, row_of{};
  std::array<std::int32_t, 1> active{};
  Grouping g{begin, token_of, row_of, active};
  group_by_expert(ids, 1, g);
  EXPECT_EQ(begin[1], 0);
  EXPECT_EQ(g.active_count, 0);
  EXPECT_EQ(row_of, (std::array<std::int32_t, 2>{-1, -1}));
}

TEST(CpuTiles, CoverTheRowsInStepsThatKeepLanes) {
  for (const std::int64_t rows : {1, 16, 144, 208, 2048, 7168})
    for (const std::int64_t active : {1, 8, 256})
      for (const int threads : {1, 2, 64}) {
        const std::int64_t tile = rows_per_task(rows, 2048, active, threads);
        EXPECT_EQ(tile % kTileStep, 0);
        EXPECT_GE(tile, kTileStep);
        EXPECT_LT(tile, rows + kTileStep);
      }
  EXPECT_EQ(rows_per_task(2048, 2048, 1, 1), 2048);
  EXPECT_LE(rows_per_task(2048, 2048, 1, 8), 64);   // one expert keeps eight threads busy
  EXPECT_GE(rows_per_task(2048, 16, 1, 64), 1024);  // and short rows are not worth a task each
}

class PipelineTest : public testing::Test {
 protected:
  const MoeBackend& backend(std::string_view name) const {
    for (const MoeBackend* b : builtin_backends())
      if (b->name() == name) return *b;
    check_failed("a registered backend", __FILE__, __LINE__, std::string(name));
  }
  std::vector<float> run(const MoeKernel& kernel, const MoeCall& call, Device& device) {
    Workspace workspace(device.allocate(kernel.workspace_bytes(call.hidden.shape[0])));
    const auto stream = device.new_stream();
    kernel.run(call, workspace, *stream);
    EXPECT_EQ(workspace.peak(), workspace.size());
    return {call.out.as<float>(), call.out.as<float>() + call.out.shape.elements()};
  }
  std::unique_ptr<Device> device_ = open_cpu_device(2);
};

// Ids as a stale routing table may hold them: valid rows are right, the others contribute nothing and read nothing.
TEST_F(PipelineTest, B042_StrayIdsContributeNothing) {
  MoeProblem p = small_problem();
  p.top_k = 3;
  const RandomExperts weights(p);
  const std::int64_t tokens = 5;
  const SampleCall sample(p, tokens, 3, *device_);
  const std::int32_t e = p.experts;
  std::vector<std::int32_t> ids = {0, e, 1, e + 1000, 5, kMax, -1, kMin, -1, 7, 7, kMin, 2, 3, 4};
  std::vector<float> factors(ids.size(), 0.5f);
  const TensorView ids_view(reinterpret_cast<std::byte*>(ids.data()), DType::i32, {tokens, p.top_k});
  const TensorView factors_view(reinterpret_cast<std::byte*>(factors.data()), DType::f32, {tokens, p.top_k});

  const auto stream = device_->new_stream();
  std::vector<double> expected(static_cast<std::size_t>(tokens * p.hidden));
  Workspace judging(device_->allocate(reference_experts_workspace_bytes(p, tokens, 2)));
  reference_experts(p, weights.weights(), sample.call().hidden, ids_view, factors_view,
                    TensorView(reinterpret_cast<std::byte*>(expected.data()), DType::f64, {tokens, p.hidden}), judging, *stream);

  const auto experts = make_cpu_experts(p, weights.weights(), *device_);
  Workspace workspace(device_->allocate(experts->workspace_bytes(tokens)));
  const ExpertRows rows = experts->run({sample.call().hidden, ids_view}, workspace, *stream);
  int computed = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<double> sum(static_cast<std::size_t>(p.hidden));
    for (std::int64_t j = 0; j < p.top_k; ++j) {
      const std::int32_t id = ids[static_cast<std::size_t>(t * p.top_k + j)], row = rows.row_of.row<std::int32_t>(t)[j];
      ASSERT_EQ(row >= 0, id >= 0 && id < e) << id;
      if (row < 0) continue;
      ++computed;
      for (std::int64_t i = 0; i < p.hidden; ++i)
        sum[static_cast<std::size_t>(i)] += 0.5 * static_cast<double>(rows.rows.row<float>(row)[i]);
    }
    for (std::int64_t i = 0; i < p.hidden; ++i)
      ASSERT_NEAR(sum[static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(t * p.hidden + i)], 1e-5) << t << ' ' << i;
  }
  EXPECT_EQ(computed, 8);
  for (std::int64_t i = 0; i < p.hidden; ++i) EXPECT_EQ(expected[static_cast<std::size_t>(2 * p.hidden + i)], 0.0);
}

// Four ranks of two experts each: their parts add up to the whole.
TEST_F(PipelineTest, LocalRangesAddUpToAllExperts) {
  for (const char* name : {"reference", "cpu_pipeline"}) {
    const MoeProblem whole = small_problem();
    const RandomExperts weights(whole);
    const SampleCall sample(whole, 9, 5, *device_);
    const std::vector<float> expected = run(*backend(name).build(whole, weights.weights(), *device_), sample.call(), *device_);
    std::vector<float> sum(expected.size());
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      MoeProblem part = whole;
      part.local_first = 2 * rank;
      part.local_count = 2;
      ExpertWeights mine;
      mine.experts = {weights.weights().experts[static_cast<std::size_t>(2 * rank)],
                      weights.weights().experts[static_cast<std::size_t>(2 * rank + 1)]};
      const std::vector<float> got = run(*backend(name).build(part, mine, *device_), sample.call(), *device_);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += got[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], expected[i], 1e-5) << name;
  }
}

TEST_F(PipelineTest, ARankWithoutExpertsAnswersZero) {
  MoeProblem p = small_problem();
  p.local_count = 0;
  const SampleCall sample(p, 3, 1, *device_);
  for (const char* name : {"reference", "cpu_pipeline"})
    for (const float x : run(*backend(name).build(p, {}, *device_), sample.call(), *device_)) ASSERT_EQ(x, 0.0f) << name;
}

TEST_F(PipelineTest, TheNumberOfThreadsDoesNotShow) {
  MoeProblem p = small_problem();
  p.hidden = 208;
  p.inter = 144;
  const RandomExperts weights(p);
  const auto alone = open_cpu_device(1);
  for (const std::int64_t tokens : {1, 33}) {
    const SampleCall one(p, tokens, 2, *device_), two(p, tokens, 2, *device_);
    const std::vector<float> expected = run(*backend("cpu_pipeline").build(p, weights.weights(), *alone), one.call(), *alone);
    EXPECT_EQ(run(*backend("cpu_pipeline").build(p, weights.weights(), *device_), two.call(), *device_), expected);
  }
}

TEST_F(PipelineTest, RunTakesNothingFromTheHeap) {
  for (const char* name : {"reference", "cpu_pipeline"}) {
    MoeProblem p = small_problem();
    p.weights = kNvfp4;
    p.router_logits = DType::bf16;
    const RandomExperts weights(p);
    const auto kernel = backend(name).build(p, weights.weights(), *device_);
    Workspace workspace(device_->allocate(kernel->workspace_bytes(33)));
    const auto stream = device_->new_stream();
    const SampleCall one(p, 1, 2, *device_), many(p, 33, 2, *device_);
    kernel->run(many.call(), workspace, *stream);
    const std::int64_t before = allocations;
    for (int i = 0; i < 10; ++i) {
      kernel->run(one.call(), workspace, *stream);
      kernel->run(many.call(), workspace, *stream);
    }
    EXPECT_EQ(allocations - before, 0) << name;
    EXPECT_GT(before, 0);
  }
}

}  // namespace
}  // namespace conclave::moe
