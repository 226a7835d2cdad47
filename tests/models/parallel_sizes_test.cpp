// Over how many ranks published models can be split and what each then holds, worked out by hand from their widths.
#include "models/parallel_sizes.h"

#include <gtest/gtest.h>

#include "io/json.h"
#include "models/check.h"
#include "tests/io/temporary_folder.h"
#include "tests/models/fixture.h"
#include "tests/models/random_hybrid.h"

namespace conclave {
namespace {

ModelCheck check(const Json& config) {
  const TemporaryFolder folder;
  folder.write("config.json", config.dump());
  return check_model(*open_folder(folder.path()), nullptr, {});
}

constexpr std::int64_t kLayers = 5;  // of the many alike that some have, which take time

Json published(const std::string& name) {
  Json config = parse_json(MappedFile::open(tree_data() / "configs" / (name + ".json"))->text(), name);
  if (name != "gpt-oss-20b" && name != "llama-4-scout") config["num_hidden_layers"] = kLayers;  // they list their layers
  return config;
}

Json changed(Json config, const Json& change) {
  config.update(change);
  return config;
}

using Sizes = std::vector<std::int32_t>;
Sizes possible(const std::vector<ParallelSize>& sizes) {
  Sizes out;
  for (const ParallelSize& size : sizes)
    if (size.problems.empty()) out.push_back(size.ranks);
  return out;
}
Sizes tensor_parallel(const Json& config) { return possible(check(config).tensor_parallel); }

const ParallelSize& of_ranks(const std::vector<ParallelSize>& sizes, std::int32_t ranks) {
  return *std::ranges::find(sizes, ranks, &ParallelSize::ranks);
}
std::string problems(const Json& config, std::int32_t ranks) {
  std::string all;
  for (const ModelCheck found = check(config); const std::string& words : of_ranks(found.tensor_parallel, ranks).problems)
    all += words + "\n";
  return all;
}

const Json kFp8Blocks = {
    {"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}, {"activation_scheme", "dynamic"}}}};

TEST(ParallelSizes, OfPublishedModels) {
  EXPECT_EQ(tensor_parallel(published("qwen3-30b-a3b")), (Sizes{1, 2, 4, 8, 16}));
  EXPECT_EQ(tensor_parallel(published("deepseek-r1")), (Sizes{1, 2, 4, 8, 16}));
  EXPECT_EQ(tensor_parallel(published("llama-3.3-70b-fp4")), (Sizes{1, 2, 4, 8, 16}));
  EXPECT_EQ(tensor_parallel(published("llama-4-scout")), (Sizes{1, 2, 4, 8}));  // 40 heads
  EXPECT_EQ(tensor_parallel(published("minimax-m2")), (Sizes{1, 2, 4}));        // 1536 / 8 cuts blocks; vLLM's recipe says so too
  EXPECT_EQ(tensor_parallel(published("gpt-oss-20b")), (Sizes{1, 2}));          // 2880 / 4 is no multiple of 32
  EXPECT_EQ(tensor_parallel(published("qwen1.5-moe-a2.7b")), (Sizes{1}));       // 1408 / 128: 11 groups
}

TEST(ParallelSizes, QuantisedMatricesAreCutWhereBlocksEnd) {
  const Json qwen = published("qwen3-30b-a3b"), fp8 = changed(qwen, kFp8Blocks);
  EXPECT_EQ(tensor_parallel(fp8), (Sizes{1, 2}));  // experts of 768: 192 at 4
  EXPECT_NE(problems(fp8, 4).find("model.layers.0.mlp.experts.0.gate_proj and alike: its 768 rows give each rank 192"),
            std::string::npos);
  EXPECT_NE(problems(fp8, 4).find("down_proj and alike: its 768 columns give each rank 192"), std::string::npos);
  // Dense MLPs beside experts that could be cut, and the heads of attention.
  const Json dense = changed(fp8, {{"moe_intermediate_size", 4096}, {"mlp_only_layers", {3}}, {"intermediate_size", 768}});
  EXPECT_EQ(tensor_parallel(dense), (Sizes{1, 2}));
  EXPECT_NE(problems(dense, 4).find("model.layers.3.mlp.gate_proj and alike"), std::string::npos);
  EXPECT_EQ(problems(dense, 4).find("experts"), std::string::npos);
  const Json heads = changed(fp8, {{"moe_intermediate_size", 4096}, {"head_dim", 64}});
  EXPECT_EQ(tensor_parallel(heads), (Sizes{1, 2}));  // 4 key-value heads of 64: one at 4
  EXPECT_NE(problems(heads, 4).find("self_attn.k_proj"), std::string::npos);
}

// Experts of 320 in blocks of 128: whole they load (the conformance suite runs them), cut they do not, and it is said why.
TEST(ParallelSizes, B015_WidthsOffTheBlockSayWhichSizesArePossible) {
  const Json config = changed(changed(published("qwen3-30b-a3b"), kFp8Blocks), {{"moe_intermediate_size", 320}});
  EXPECT_EQ(tensor_parallel(config), (Sizes{1}));
  for (const auto& [ranks, part] : {std::pair{2, "160"}, {4, "80"}, {8, "40"}}) {
    const std::string words = problems(config, ranks);
    EXPECT_NE(words.find("mlp.experts.0.gate_proj and alike: its 320 rows give each rank " + std::string(part)), std::string::npos)
        << words;
    EXPECT_NE(words.find("down_proj and alike: its 320 columns"), std::string::npos) << words;
  }
  EXPECT_EQ(possible(check(config).expert_parallel), (Sizes{1, 2, 4, 8, 16}));
}

TEST(ParallelSizes, SharedExpertsAreDividedToo) {
  const Json config =
      changed(published("qwen1.5-moe-a2.7b"), {{"moe_intermediate_size", 2048}, {"shared_expert_intermediate_size", 640}});
  EXPECT_EQ(tensor_parallel(config), (Sizes{1}));  // 5 groups of 128
  EXPECT_NE(problems(config, 2).find("shared_expert.down_proj"), std::string::npos);
}

TEST(ParallelSizes, KeyValueHeadsAreDividedOrHeldByManyRanks) {
  const Json qwen = published("qwen3-30b-a3b");
  EXPECT_EQ(tensor_parallel(changed(qwen, {{"num_attention_heads", 24}, {"num_key_value_heads", 6}})), (Sizes{1, 2}));
  EXPECT_EQ(tensor_parallel(changed(qwen, {{"num_attention_heads", 8}, {"num_key_value_heads", 8}})), (Sizes{1, 2, 4, 8}));
  EXPECT_NE(problems(changed(qwen, {{"num_attention_heads", 24}, {"num_key_value_heads", 6}}), 4).find("6 key-value heads"),
            std::string::npos);
}

TEST(ParallelSizes, MixersAreDividedByHeadsAndGroups) {
  const Json config = RandomHybrid("ME*-").config;  // 4 heads in 2 groups; attention with 4 heads
  EXPECT_EQ(tensor_parallel(config), (Sizes{1, 2}));
  EXPECT_NE(problems(config, 4).find("2 Mamba groups cannot be divided among 4 ranks"), std::string::npos);
  EXPECT_EQ(tensor_parallel(changed(config, {{"n_groups", 1}})), (Sizes{1, 2, 4}));
  EXPECT_NE(problems(changed(config, {{"n_groups", 1}}), 8).find("4 Mamba heads"), std::string::npos);
}

TEST(ParallelSizes, ExpertsAreDividedWhole) {
  EXPECT_EQ(possible(check(published("qwen1.5-moe-a2.7b")).expert_parallel), (Sizes{1, 2, 4}));  // 60
  EXPECT_EQ(possible(check(published("deepseek-r1")).expert_parallel), (Sizes{1, 2, 4, 8, 16}));
  EXPECT_TRUE(check(published("llama-3.3-70b-fp4")).expert_parallel.empty());
}

// ---- memory, by arithmetic -----------------------------------------------------------------------------------------------------

// Qwen3-30B-A3B in bf16: H 2048, 32 heads and 4 key-value heads of 128, 128 experts of 768.
std::int64_t qwen3_bytes(std::int64_t ranks, std::int64_t vocab_rows) {
  const std::int64_t kv = ranks > 4 ? 1 : 4 / ranks;
  const std::int64_t attention = 2 * (32 / ranks * 128 * 2048) + 2 * (kv * 128 * 2048) + 2 * 128;
  const std::int64_t experts = 128 * 2048 + 128 * 3 * (768 / ranks * 2048);
  return 2 * (kLayers * (attention + experts + 2 * 2048) + 2 * vocab_rows * 2048 + 2048);
}

TEST(ParallelMemory, ARankHoldsItsShareAndWhatIsWhole) {
  const ModelCheck found = check(published("qwen3-30b-a3b"));
  for (const ParallelSize& size : found.tensor_parallel) {
    EXPECT_EQ(size.memory.weight_bytes, qwen3_bytes(size.ranks, 151936 / size.ranks)) << size.ranks;
    EXPECT_EQ(size.memory.kv_values_per_token, kLayers * 2 * 128 * std::max(1, 4 / size.ranks)) << size.ranks;
  }
  for (const ParallelSize& size : found.expert_parallel) {
    EXPECT_EQ(size.memory.weight_bytes, qwen3_bytes(1, 151936) - 2 * kLayers * (128 - 128 / size.ranks) * 3 * 768 * 2048);
    EXPECT_EQ(size.memory.kv_values_per_token, kLayers * 2 * 128 * 4);
  }
}

TEST(ParallelMemory, TheVocabularyIsFilledUpToAMultipleOf64) {
  const ModelCheck found = check(changed(published("qwen3-30b-a3b"), {{"vocab_size", 151937}}));
  EXPECT_EQ(of_ranks(found.tensor_parallel, 1).memory.weight_bytes, qwen3_bytes(1, 151937));
  EXPECT_EQ(of_ranks(found.tensor_parallel, 2).memory.weight_bytes, qwen3_bytes(2, 152000 / 2));
  EXPECT_EQ(of_ranks(found.tensor_parallel, 16).memory.weight_bytes, qwen3_bytes(16, 152000 / 16));
}

// DeepSeek-R1: FP8 with a float32 per 128 x 128, latent attention whose down-projections every rank has.
TEST(ParallelMemory, LatentAttentionAndBlocksOfScales) {
  const auto fp8 = [](std::int64_t rows, std::int64_t cols) { return rows * cols + (rows + 127) / 128 * ((cols + 127) / 128) * 4; };
  const ModelCheck found = check(published("deepseek-r1"));
  for (const ParallelSize& size : found.tensor_parallel) {
    const std::int64_t n = size.ranks, heads = 128 / n, h = 7168;
    const auto mlp = [&](std::int64_t inner) { return 2 * fp8(inner, h) + fp8(h, inner); };
    const std::int64_t attention =
        fp8(1536, h) + fp8(heads * 192, 1536) + fp8(512 + 64, h) + fp8(heads * 256, 512) + fp8(h, heads * 128);
    const std::int64_t norms = 2 * (2 * h + 1536 + 512);
    const std::int64_t sparse = 2 * 256 * h + 2 * 256 + 257 * mlp(2048 / n);  // router and its bias in bf16; one shared expert
    const std::int64_t ends = 2 * (2 * 129280 / n * h + h);
    EXPECT_EQ(size.memory.weight_bytes, kLayers * (attention + norms) + 3 * mlp(18432 / n) + (kLayers - 3) * sparse + ends) << n;
    EXPECT_EQ(size.memory.kv_values_per_token, kLayers * (512 + 64));
  }
}

// gpt-oss-20b: experts in MXFP4 with bf16 biases that go with them; the bias behind a divided input is whole.
TEST(ParallelMemory, BiasesGoWithTheirRows) {
  const auto mxfp4 = [](std::int64_t rows, std::int64_t cols) { return rows * cols / 2 + rows * cols / 32; };
  const ModelCheck found = check(published("gpt-oss-20b"));
  const std::int64_t h = 2880, experts = 32;
  const auto bytes = [&](std::int64_t n) {
    const std::int64_t q = 64 / n * 64, kv = 8 / n * 64, inner = 2880 / n;
    const std::int64_t attention = 2 * (q * h + q + 2 * (kv * h + kv) + h * q + h + 64 / n) + 2 * 2 * h;
    const std::int64_t expert = 2 * mxfp4(inner, h) + mxfp4(h, inner) + 2 * (2 * inner + h);
    return 24 * (attention + 2 * (experts * h + experts) + experts * expert) + 2 * (2 * 201088 / n * h + h);
  };
  EXPECT_EQ(of_ranks(found.tensor_parallel, 1).memory.weight_bytes, bytes(1));
  EXPECT_EQ(of_ranks(found.tensor_parallel, 2).memory.weight_bytes, bytes(2));
  const std::int64_t expert = 3 * mxfp4(2880, h) + 2 * 3 * h;
  EXPECT_EQ(of_ranks(found.expert_parallel, 8).memory.weight_bytes, bytes(1) - 24 * (experts - experts / 8) * expert);
}

}  // namespace
}  // namespace conclave
