// The shipped model in its three formats. BF16's goldens are transformers' float32 greedy completions with their log-probabilities;
// those of NVFP4 and FP8 come from the numpy oracle in float64 over the dequantised weights (tests/data/model).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "io/json.h"
#include "models/embedded.h"
#include "tests/models/fixture.h"
#include "tests/sanitized.h"

namespace conclave {
namespace {

std::vector<Json> json_lines(const std::filesystem::path& path) {
  std::vector<Json> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) rows.push_back(parse_json(line, path.filename().string()));
  return rows;
}

double log_probability(std::span<const float> logits, std::int32_t id) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float x : logits) sum += std::exp(x - top);
  return logits[static_cast<std::size_t>(id)] - top - std::log(sum);
}

// Feeds every golden's prompt and completion and compares what the model says of each completion token.
// `loss`: how far a log-probability may be off; where a golden's margin is below `margin` the argmax may differ.
void expect_goldens(const LoadedModel& loaded, const std::vector<Json>& oracle, double loss, double margin, DType kv,
                    std::size_t rows) {
  const std::vector<Json> goldens = json_lines(tree_data() / "model" / "goldens_50.jsonl");
  const auto vocab = static_cast<std::size_t>(loaded.model->config().vocab);
  double worst = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<std::int32_t> ids = goldens[r]["prompt_ids"];
    const std::size_t first = ids.size() - 1;
    std::vector<std::int32_t> want = goldens[r]["completion_ids"];
    ids.insert(ids.end(), want.begin(), want.end());
    want.push_back(goldens[r]["stop_id"]);
    const LoadedModel::Run run = loaded.run(ids, 0, kv);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto logits = std::span(run.logits).subspan((first + i) * vocab, vocab);
      const double got = log_probability(logits, want[i]);
      const double expected = oracle[r]["logprobs"][i];
      worst = std::max(worst, std::abs(got - expected));
      EXPECT_NEAR(got, expected, loss) << "golden " << r << " token " << i;
      if (oracle[r]["margins"][i].get<double>() >= margin) {
        const std::int32_t best = oracle[r].contains("argmax") ? oracle[r]["argmax"][i].get<std::int32_t>() : want[i];
        EXPECT_EQ(argmax(logits).id, best) << "golden " << r << " token " << i;
      }
    }
  }
  std::printf("%s: worst log-probability difference %.2e over %zu goldens\n", loaded.checkpoint->files().location().c_str(), worst,
              rows);
}

// A log-probability moves by at most twice what a logit moves. Rounding activations to 16 bits moves logits by some 1e-4, the cache
// in bf16 by a thousandth in the first goldens and by up to a tenth in others.
constexpr double kFastLoss = 1e-3, kFastMargin = 1e-2;
constexpr double kBf16CacheLoss = 5e-3, kBf16CacheMargin = 1e-2;
constexpr double kReferenceLoss = 5e-4, kReferenceMargin = 1e-2;
constexpr std::size_t kFastRows = kSanitized ? 1 : 50, kFewRows = kSanitized ? 1 : 5;

void expect_goldens_on_every_path(const std::shared_ptr<const FileSet>& files, const std::vector<Json>& oracle) {
  const LoadedModel fast = load_fixture(files, Path::fast), reference = load_fixture(files, Path::reference);
  expect_goldens(fast, oracle, kFastLoss, kFastMargin, DType::f32, kFastRows);
  expect_goldens(fast, oracle, kBf16CacheLoss, kBf16CacheMargin, DType::bf16, kFewRows);
  expect_goldens(reference, oracle, kReferenceLoss, kReferenceMargin, DType::f32, kFewRows);
}

TEST(TinyMoe, TheBuiltInModelMatchesTheOracle) {
  const auto oracle = json_lines(tree_data() / "model" / "oracle_nvfp4.jsonl");
  expect_goldens_on_every_path(embedded_model(), oracle);
}

class SharedTinyMoe : public testing::TestWithParam<std::string> {};

TEST_P(SharedTinyMoe, MatchesItsGoldens) {
  if (kSanitized) GTEST_SKIP() << "sanitized: " << GetParam() << " goldens were not run; the built-in model takes the same paths";
  const auto folder = shared_data() / "model" / GetParam();
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "there is no " << folder << ": this format of the model was not run";
  const auto oracle = GetParam() == "bf16" ? json_lines(tree_data() / "model" / "goldens_50.jsonl")
                                           : json_lines(tree_data() / "model" / ("oracle_" + GetParam() + ".jsonl"));
  expect_goldens_on_every_path(open_folder(folder), oracle);
}
INSTANTIATE_TEST_SUITE_P(Formats, SharedTinyMoe, testing::Values("bf16", "fp8", "nvfp4"),
                         [](const auto& format) { return format.param; });

}  // namespace
}  // namespace conclave
