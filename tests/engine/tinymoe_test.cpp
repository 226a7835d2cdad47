// The whole engine on the shipped model: greedy completions of many requests together, against transformers'.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "conclave/conclave.h"
#include "io/json.h"
#include "tests/sanitized.h"

namespace conclave {
namespace {

struct Golden {
  std::vector<std::int32_t> prompt, completion;
  std::int32_t stop = 0;
  std::vector<float> margins;
};

std::filesystem::path source_dir() { return CONCLAVE_SOURCE_DIR; }

std::vector<Golden> read_goldens() {
  std::vector<Golden> out;
  std::ifstream in(source_dir() / "tests" / "data" / "model" / "goldens_50.jsonl");
  for (std::string line; std::getline(in, line);) {
    const Json row = parse_json(line, "goldens_50.jsonl");
    out.push_back({row["prompt_ids"], row["completion_ids"], row["stop_id"], row["margins"]});
  }
  return out;
}

std::unique_ptr<TokenStream> submit(Engine& engine, const Golden& golden) {
  Request request;
  request.prompt = golden.prompt;
  request.sampling.temperature = 0;
  request.sampling.max_tokens = static_cast<std::int32_t>(golden.completion.size()) + 1;
  request.sampling.ignore_eos = true;  // the goldens end by rules of their own
  auto submitted = engine.submit(std::move(request));
  if (auto* error = std::get_if<Error>(&submitted)) throw *error;
  return std::move(std::get<std::unique_ptr<TokenStream>>(submitted));
}

std::vector<std::int32_t> tokens_of(TokenStream& stream) {
  std::vector<std::int32_t> tokens;
  while (auto event = stream.try_next()) {
    const auto* delta = std::get_if<Delta>(&*event);
    if (delta == nullptr) break;
    tokens.insert(tokens.end(), delta->tokens.begin(), delta->tokens.end());
  }
  return tokens;
}

std::vector<std::vector<std::int32_t>> complete(Engine& engine, std::span<const Golden> goldens) {
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (const Golden& golden : goldens) streams.push_back(submit(engine, golden));
  while (engine.step()) {
  }
  std::vector<std::vector<std::int32_t>> out;
  for (const auto& stream : streams) out.push_back(tokens_of(*stream));
  return out;
}

// BF16 greedy equals transformers up to the first step whose margin is within what a bf16 cache can move.
TEST(TinyMoeEngine, Bf16CompletionsEqualTheGoldens) {
  const auto folder = source_dir().parent_path() / "shared" / "model" / "bf16";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "there is no ../shared/model/bf16: the BF16 goldens were not run";
  constexpr float kNoise = 0.3f;
  EngineOptions options;
  options.model = folder.string();
  const auto engine = Engine::open(options);
  std::vector<Golden> goldens = read_goldens();
  if (kSanitized) goldens.resize(4);
  const auto completions = complete(*engine, goldens);
  std::size_t compared = 0;
  for (std::size_t g = 0; g < goldens.size(); ++g) {
    std::vector<std::int32_t> want = goldens[g].completion;
    want.push_back(goldens[g].stop);
    for (std::size_t i = 0; i < want.size() && goldens[g].margins[i] >= kNoise; ++i, ++compared)
      ASSERT_EQ(completions[g][i], want[i]) << "golden " << g << " token " << i;
  }
  EXPECT_GT(compared, 30 * goldens.size());
}

}  // namespace
}  // namespace conclave
