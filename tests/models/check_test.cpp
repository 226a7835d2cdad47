// What check says of memory, against what a loaded model takes; and that it can be given up.
#include "models/check.h"

#include <gtest/gtest.h>

#include "conclave/error.h"
#include "tests/models/fixture.h"
#include "tests/models/random_hybrid.h"

namespace conclave {
namespace {

constexpr StepSize kStep{48, 16, 200};

// A whole step, as the engine runs it, whose rows are one prompt; the most that it had of its workspace.
std::size_t peak_of(const LoadedModel& loaded) {
  KvSpec spec = loaded.model->kv_spec();
  const std::int32_t pages = kStep.context / spec.page_tokens + 1;
  KvCache cache(*loaded.device, spec, pages, 1);
  Workspace workspace(loaded.device->allocate(loaded.model->workspace_bytes(kStep.tokens, kStep.logits_rows, kStep.context)));
  std::vector<std::int32_t> tokens, positions, own_pages, rows;
  for (std::int32_t t = 0; t < kStep.tokens; ++t) tokens.push_back(t % 7), positions.push_back(t);
  for (std::int32_t p = 0; p < pages; ++p) own_pages.push_back(p);
  for (std::int32_t r = 0; r < kStep.logits_rows; ++r) rows.push_back(kStep.tokens - kStep.logits_rows + r);
  const SequenceRows sequence{0, kStep.tokens, kStep.tokens, own_pages};
  std::vector<float> logits(loaded.model->logits_bytes(kStep.logits_rows) / sizeof(float));
  const auto stream = loaded.device->new_stream();
  loaded.model->forward(
      {tokens, positions, {&sequence, 1}, rows}, cache, {*loaded.ops, *stream, workspace},
      TensorView(reinterpret_cast<std::byte*>(logits.data()), DType::f32, {kStep.logits_rows, loaded.model->config().vocab}));
  return workspace.peak();
}

void expect_workspace(const std::filesystem::path& folder) {
  SCOPED_TRACE(folder.filename().string());
  const LoadedModel loaded = load_fixture(open_folder(folder), Path::fast);
  CheckOptions options;
  options.step = kStep;
  const ModelCheck check = check_model(loaded.checkpoint->files(), nullptr, options);
  ASSERT_FALSE(check.tensor_parallel.empty());
  const std::size_t workspace = loaded.model->workspace_bytes(kStep.tokens, kStep.logits_rows, kStep.context),
                    logits =
                        static_cast<std::size_t>(kStep.logits_rows) * static_cast<std::size_t>(loaded.model->config().vocab) * 4;
  EXPECT_EQ(check.tensor_parallel[0].memory.workspace_bytes, static_cast<std::int64_t>(workspace + logits));
  const std::size_t peak = peak_of(loaded);
  EXPECT_LE(peak, workspace);
  EXPECT_GT(4 * peak, workspace);
  for (const ParallelSize& size : check.expert_parallel)
    EXPECT_EQ(size.memory.workspace_bytes, check.tensor_parallel[0].memory.workspace_bytes);
}

TEST(CheckWorkspace, IsWhatALoadedModelTakes) {
  for (const auto& folder : fixtures_under(tree_data() / "fixtures")) expect_workspace(folder);
  expect_workspace(RandomHybrid("ME*-").write("check_workspace"));
}

TEST(CheckWorkspace, IsWhatALoadedModelTakesInFixturesBesideTheTree) {
  if (!std::filesystem::is_directory(shared_data() / "fixtures"))
    GTEST_SKIP() << "there is no ../shared/fixtures: the workspace was compared for the fixtures of the tree only";
  for (const auto& folder : fixtures_under(shared_data() / "fixtures")) expect_workspace(folder);
}

TEST(CheckWorkspace, OfARankIsThatOfItsPart) {
  CheckOptions options;
  options.step = kStep;
  const auto files = open_folder(tree_data() / "fixtures" / "qwen3_moe-bf16-sharded");
  const auto sizes = check_model(*files, nullptr, options).tensor_parallel;
  ASSERT_EQ(sizes[1].problems, std::vector<std::string>{});
  EXPECT_LT(sizes[1].memory.workspace_bytes, sizes[0].memory.workspace_bytes);
  EXPECT_GT(2 * *sizes[1].memory.workspace_bytes, *sizes[0].memory.workspace_bytes);  // residuals and router are whole
}

TEST(CheckWorkspace, OfWhatNothingRunsIsNotSaid) {
  CheckOptions options;
  options.moe_backend = "cpu_latency";  // 4-bit weights only
  const auto files = open_folder(tree_data() / "fixtures" / "qwen3_moe-bf16-sharded");
  const ModelCheck check = check_model(*files, nullptr, options);
  EXPECT_NE(check.devices.at(0).refusal, "");
  EXPECT_EQ(check.tensor_parallel[1].problems, std::vector<std::string>{});
  for (const ParallelSize& size : check.tensor_parallel) {
    EXPECT_FALSE(size.memory.workspace_bytes);
    EXPECT_EQ(size.memory.weight_bytes > 0, size.problems.empty());
  }
}

TEST(Check, AContextBeyondTheModelsIsRefused) {
  CheckOptions options;
  options.step.context = 1 << 30;
  const auto files = open_folder(tree_data() / "fixtures" / "qwen3_moe-bf16-sharded");
  try {
    check_model(*files, nullptr, options);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::bad_input);
    EXPECT_NE(std::string(e.what()).find("max_model_len is 1073741824"), std::string::npos) << e.what();
  }
}

// Wherever it is given up, within one matrix: in the plans of the whole model and of its ranks.
TEST(Check, CanBeGivenUpAtAnyTime) {
  const auto files = open_folder(tree_data() / "fixtures" / "qwen3_moe-nvfp4-kvfp8");
  const auto weights = Checkpoint::open(open_folder(tree_data() / "fixtures" / "qwen3_moe-nvfp4-kvfp8"));
  std::int64_t calls = 0, last = -1;
  CheckOptions options;
  options.progress = [&](std::int64_t, std::int64_t) {
    if (calls++ == last) throw Error(Errc::cancelled, "enough");
  };
  check_model(*files, weights.get(), options);
  const std::int64_t all = calls;
  EXPECT_GT(all, 200);
  for (last = 0; last < all; last += 17) {
    calls = 0;
    try {
      check_model(*files, weights.get(), options);
      ADD_FAILURE() << "went on after call " << last;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::cancelled);
    }
    EXPECT_EQ(calls, last + 1);
  }
}

}  // namespace
}  // namespace conclave
