// Over how many ranks models can be split, worked out by hand from published widths.
#include "models/parallel_sizes.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

moe::MoeProblem experts(std::int32_t count, std::int32_t inter, const QuantScheme& weights) {
  moe::MoeProblem p;
  p.experts = p.local_count = count;
  p.inter = inter;
  p.weights = weights;
  return p;
}

ModelConfig heads(std::int32_t all, std::int32_t kv) {
  ModelConfig c;
  c.heads = all;
  c.kv_heads = kv;
  return c;
}

std::vector<std::int32_t> possible(const std::vector<ParallelSize>& sizes) {
  std::vector<std::int32_t> out;
  for (const ParallelSize& size : sizes)
    if (size.problems.empty()) out.push_back(size.ranks);
  return out;
}

using Sizes = std::vector<std::int32_t>;

TEST(ParallelSizes, ExpertsAreCutWhereBlocksEnd) {
  const auto cut = [](std::int32_t inter, const QuantScheme& weights) {
    const moe::MoeProblem p = experts(128, inter, weights);
    return possible(tensor_parallel_sizes(heads(64, 64), false, {&p, 1}));
  };
  EXPECT_EQ(cut(768, kBf16), (Sizes{1, 2, 4, 8, 16}));          // Qwen3-30B-A3B
  EXPECT_EQ(cut(768, kFp8Block128), (Sizes{1, 2}));             // 192 at 4 cuts a block
  EXPECT_EQ(cut(2048, kFp8Block128), (Sizes{1, 2, 4, 8, 16}));  // DeepSeek-R1
  EXPECT_EQ(cut(2880, kMxfp4), (Sizes{1, 2}));                  // gpt-oss: 720 at 4 is no multiple of 32
  EXPECT_EQ(cut(768, kNvfp4), (Sizes{1, 2, 4, 8, 16}));
  EXPECT_EQ(cut(96, kNvfp4), (Sizes{1, 2}));
  EXPECT_EQ(cut(1408, kInt4Group128), (Sizes{1}));  // Qwen1.5-MoE: 11 groups
}

TEST(ParallelSizes, KeyValueHeadsAreDividedOrHeldByManyRanks) {
  EXPECT_EQ(possible(tensor_parallel_sizes(heads(32, 4), false, {})), (Sizes{1, 2, 4, 8, 16}));
  EXPECT_EQ(possible(tensor_parallel_sizes(heads(24, 6), false, {})), (Sizes{1, 2}));       // 6 heads, 4 and 8 ranks
  EXPECT_EQ(possible(tensor_parallel_sizes(heads(24, 6), true, {})), (Sizes{1, 2, 4, 8}));  // one latent vector for all
}

TEST(ParallelSizes, ExpertsAreDividedWhole) {
  const moe::MoeProblem layers[] = {experts(16, 64, kBf16), experts(60, 64, kBf16)};
  EXPECT_EQ(possible(expert_parallel_sizes(layers)), (Sizes{1, 2, 4}));
  EXPECT_TRUE(expert_parallel_sizes({}).empty());
}

}  // namespace
}  // namespace conclave
