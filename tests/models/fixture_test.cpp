// Every fixture whose architecture this build runs, in both config styles, against transformers' logits.
#include <gtest/gtest.h>

#include <cstdio>

#include "io/json.h"
#include "tests/models/fixture.h"
#include "tests/sanitized.h"

namespace conclave {
namespace {

constexpr int kNewTokens = kSanitized ? 4 : 24;

struct Case {
  std::filesystem::path folder;
  std::string config;
};

class FixtureTest : public testing::TestWithParam<Case> {
 protected:
  FixtureTest()
      : folder_(GetParam().folder),
        references_(folder_ / "ref.safetensors"),
        meta_(parse_json(open_folder(folder_)->find("meta.json")->text(), "meta.json")) {}

  std::shared_ptr<const FileSet> files() const { return std::make_shared<WithConfig>(open_folder(folder_), GetParam().config); }
  std::vector<std::int32_t> prompt(int p) const { return references_.ints("p" + std::to_string(p) + ".ids"); }

  // Logits of all prompts and the greedy continuations against tag `w`.
  struct Allowed {
    double max_rel, rms_rel, cos_loss;
    double margin;  // greedy tokens must agree up to the first step whose margin is below
  };
  void expect_logits(const LoadedModel& loaded, const std::string& tag, DType kv, const Allowed& allowed) const {
    const auto vocab = static_cast<std::size_t>(loaded.model->config().vocab);
    for (int p = 0; p < (kSanitized ? 1 : 3); ++p) {
      const std::string at = tag + ".p" + std::to_string(p);
      const LoadedModel::Run run = loaded.run(prompt(p), kNewTokens, kv);
      const std::vector<float> expected = references_.floats(p == 2 ? at + ".logits_last8" : at + ".logits");
      const std::span<const float> got = std::span(run.logits).last(expected.size());
      const Difference d = compare(got, expected, vocab);
      std::printf("%-32s %-16s %s: max_rel %.2e rms_rel %.2e 1-cos %.2e\n", folder_.filename().c_str(), GetParam().config.c_str(),
                  at.c_str(), d.max_rel, d.rms_rel, 1 - d.cos_min);
      EXPECT_LE(d.max_rel, allowed.max_rel) << at;
      EXPECT_LE(d.rms_rel, allowed.rms_rel) << at;
      EXPECT_LE(1 - d.cos_min, allowed.cos_loss) << at;
      expect_greedy(run, at, allowed.margin);
    }
  }

  void expect_greedy(const LoadedModel::Run& run, const std::string& at, double smallest_margin) const {
    const auto tokens = references_.ints(at + ".greedy");
    const auto margins = references_.floats(at + ".margin");
    for (std::size_t i = 0; i < kNewTokens && margins[i] >= smallest_margin; ++i)
      ASSERT_EQ(run.greedy[i], tokens[i]) << at << " step " << i << ", margin " << margins[i];
  }

  std::filesystem::path folder_;
  References references_;
  Json meta_;
};

TEST_P(FixtureTest, TheReferencePathEqualsTransformers) {
  const LoadedModel loaded = load_fixture(files(), Path::reference);
  // Float32 itself differs by up to 1.5e-6; the epsilon of another model's norms moves Llama's logits by 1e-5.
  expect_logits(loaded, "w", DType::f32, {5e-6, 5e-6, 2e-11, 1e-2});
}

TEST_P(FixtureTest, TheFastPathIsWithinTheNoiseOfBf16) {
  const LoadedModel loaded = load_fixture(files(), Path::fast);
  const Json& noise = meta_["noise_bf16"];
  const double cos_loss = 3 * (1 - noise["cos_min"].get<double>());
  expect_logits(
      loaded, "w", DType::bf16,
      {2 * noise["max_rel"].get<double>(), 2 * noise["rms_rel"].get<double>(), cos_loss, 2 * noise["max_abs"].get<double>()});
}

TEST_P(FixtureTest, ChunksOfThePromptChangeNothing) {
  const LoadedModel loaded = load_fixture(files(), Path::fast);
  const LoadedModel::Run whole = loaded.run(prompt(2), 1, DType::bf16);
  for (int chunk : kSanitized ? std::vector<int>{7} : std::vector<int>{1, 7, 16, 64}) {
    const LoadedModel::Run parts = loaded.run(prompt(2), 1, DType::bf16, chunk);
    EXPECT_EQ(parts.logits, whole.logits) << "chunk " << chunk;
  }
}

// FP8 keys and values with the checkpoint's scales, in the reference path.
class QuantisedCacheTest : public FixtureTest {};
TEST_P(QuantisedCacheTest, UsesThePublishedScales) {
  const LoadedModel loaded = load_fixture(files(), Path::reference);
  EXPECT_EQ(loaded.model->kv_spec().k_scales.size(), static_cast<std::size_t>(loaded.model->config().layers));
  expect_logits(loaded, "kv", DType::f8e4m3, {2e-2, 1e-2, 2e-4, 0.5});
}

// Both config styles; under sanitizers one, since what follows the configuration is the same.
std::vector<Case> cases_under(const std::filesystem::path& root) {
  std::vector<Case> cases;
  for (const auto& folder : fixtures_under(root)) {
    cases.push_back({folder, "config.json"});
    if (!kSanitized) cases.push_back({folder, "config.hub.json"});
  }
  return cases;
}

std::vector<Case> with_quantised_cache(std::vector<Case> cases) {
  std::erase_if(cases, [](const Case& c) { return !References(c.folder / "ref.safetensors").has("kv.p1.logits"); });
  return cases;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.folder.filename().string() + (info.param.config == "config.json" ? "" : "_hub");
  for (char& c : name)
    if (c == '-' || c == '.') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tree, FixtureTest, testing::ValuesIn(cases_under(tree_data() / "fixtures")), name_of);
INSTANTIATE_TEST_SUITE_P(Shared, FixtureTest, testing::ValuesIn(cases_under(shared_data() / "fixtures")), name_of);
INSTANTIATE_TEST_SUITE_P(Tree, QuantisedCacheTest, testing::ValuesIn(with_quantised_cache(cases_under(tree_data() / "fixtures"))),
                         name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FixtureTest);

TEST(Fixtures, TheTreeHasSome) { EXPECT_GE(fixtures_under(tree_data() / "fixtures").size(), 8u); }

TEST(Fixtures, MoreLieBesideTheTree) {
  if (!std::filesystem::is_directory(shared_data() / "fixtures"))
    GTEST_SKIP() << "there is no ../shared/fixtures: only the fixtures of the tree were run";
  EXPECT_GE(fixtures_under(shared_data() / "fixtures").size(), 3u);
}

}  // namespace
}  // namespace conclave
