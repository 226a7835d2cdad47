#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/ops/attention_case.h"

namespace conclave::test {
namespace {

struct Variant {
  const char* name;
  int heads, kv_heads, head_dim;
  std::int32_t window = 0, chunk = 0;
  bool sinks = false;
  DType dtype = DType::bf16;
  std::int32_t page_tokens = 16;
  int value_dim = 0;
};

const Variant kVariants[] = {
    {"plain", 4, 4, 32},
    {"gqa_2", 4, 2, 32, 0, 0, false, DType::f32},
    {"gqa_3_odd_dim", 6, 2, 20, 0, 0, false, DType::f32, 7},
    {"gqa_8", 8, 1, 64, 0, 0, false, DType::bf16, 1},
    {"fp8", 4, 2, 32, 0, 0, false, DType::f8e4m3},
    {"window", 4, 2, 32, 128},
    {"window_of_one", 2, 2, 16, 1, 0, false, DType::f32},
    {"chunk", 4, 2, 32, 0, 64},
    {"sinks", 4, 2, 32, 0, 0, true},
    {"sinks_window_fp8", 8, 2, 32, 300, 0, true, DType::f8e4m3, 5},
    {"window_and_chunk", 2, 1, 32, 100, 300, false, DType::f32},
    {"latent", 16, 1, 72, 0, 0, false, DType::bf16, 16, 64},
    {"latent_fp8", 4, 1, 40, 0, 0, false, DType::f8e4m3, 8, 32},
};

class AttentionOf : public testing::TestWithParam<Variant> {
 protected:
  AttentionOf() {
    std::mt19937 random(11);
    const Variant& v = GetParam();
    if (v.sinks) sinks_ = Tensor::random({v.heads}, random, 3.0f).values;
    spec_ = {v.heads,  v.kv_heads, v.head_dim, 1.0f / std::sqrt(static_cast<float>(v.head_dim)),
             v.window, v.chunk,    sinks_,     v.value_dim};
  }
  // Prefill, decode and a long context together; spans of the fast version end at 256 and 512.
  AttentionCase mixed() const {
    AttentionCase c(spec_, GetParam().dtype, GetParam().page_tokens, 5);
    c.add_random(1, 1);
    c.add_random(40, 40);
    c.add_random(257, 2);
    c.add_random(700, 1);
    c.add_random(530, 20);
    return c;
  }
  std::vector<float> sinks_;
  AttentionSpec spec_;
};
INSTANTIATE_TEST_SUITE_P(Variants, AttentionOf, testing::ValuesIn(kVariants),
                         [](const auto& i) { return std::string(i.param.name); });

TEST_P(AttentionOf, AgreesWithTheReference) {
  Bench reference = Bench::reference();
  const AttentionCase attention = mixed();
  const AttentionCase::Cache cache = attention.write(reference);
  const Tensor want = attention.run(reference, cache);
  for (Bench& bench : cpu_benches())
    EXPECT_TRUE(close(attention.run(bench, cache).values, want.values, 1e-5, 2e-6)) << bench.ops().name();
}

TEST_P(AttentionOf, ARowIsTheSameAloneAndInABatch) {
  const AttentionCase attention = mixed();
  const std::int64_t width = std::int64_t{spec_.heads} * spec_.values();
  for (CpuIsa isa : runnable_isas()) {
    Bench one = Bench::cpu(isa, 1), many = Bench::cpu(isa, 3);  // alone, many threads share the spans of a row
    const AttentionCase::Cache cache = attention.write(one);
    const Tensor together = attention.run(one, cache);
    EXPECT_EQ(std::memcmp(attention.run(many, cache).values.data(), together.values.data(), together.values.size() * sizeof(float)),
              0);
    for (std::size_t s = 0; s < attention.sequences(); ++s) {
      for (std::int32_t row : {0, attention.rows(s) - 1}) {
        const float* const want = together.values.data() + (attention.first_row(s) + row) * width;
        for (Bench* bench : {&one, &many}) {
          const Tensor alone = attention.run_alone(*bench, cache, s, row);
          EXPECT_EQ(std::memcmp(alone.values.data(), want, static_cast<std::size_t>(width) * sizeof(float)), 0)
              << isa_name(isa) << " sequence " << s << " row " << row;
        }
      }
    }
  }
}

TEST_P(AttentionOf, WritesTheSameCacheAsTheReference) {
  Bench reference = Bench::reference();
  const AttentionCase attention = mixed();
  const std::vector<std::byte> want = attention.write(reference).memory;
  for (Bench& bench : cpu_benches()) EXPECT_EQ(attention.write(bench).memory, want) << bench.ops().name();
}

TEST_P(AttentionOf, ReadsTheSameKeysAsTheReference) {
  Bench reference = Bench::reference();
  const AttentionCase attention = mixed();
  const AttentionCase::Cache cache = attention.write(reference);
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {3, 600}}) {
    const Tensor want = attention.read_keys(reference, cache, 3, first, count);
    for (Bench& bench : cpu_benches())
      EXPECT_EQ(attention.read_keys(bench, cache, 3, first, count).values, want.values) << bench.ops().name();
    if (GetParam().dtype == DType::f32) {
      EXPECT_EQ(want.values, attention.keys(3, first, count));
    }
  }
}

TEST_P(AttentionOf, SomeOfTheSequencesLeaveTheRowsOfTheOthersAlone) {
  const AttentionCase attention = mixed();
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  for (Bench& bench : benches) {
    const AttentionCase::Cache cache = attention.write(bench);
    Tensor want = attention.run(bench, cache);
    const auto width = static_cast<std::ptrdiff_t>(spec_.heads) * spec_.values();
    std::fill(want.values.begin(), want.values.begin() + attention.first_row(1) * width, std::nanf(""));
    std::fill(want.values.begin() + attention.first_row(4) * width, want.values.end(), std::nanf(""));
    EXPECT_TRUE(close(attention.run(bench, cache, 1, 3).values, want.values, 0, 0)) << bench.ops().name();
  }
}

TEST(Attention, B044_OfNoRowsDoesNothing) {
  const AttentionSpec spec{2, 1, 16, 0.25f, 0, 0, {}, 0};
  const AttentionCase nothing(spec, DType::bf16, 16, 1);
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  for (Bench& bench : benches) EXPECT_TRUE(nothing.run(bench, nothing.write(bench)).values.empty());
}

// Scores far apart: the largest one wins, nothing overflows.
TEST(Attention, TakesLargeScores) {
  const AttentionSpec spec{1, 1, 16, 1.0f, 0, 0, {}, 0};
  const std::int32_t context = 600;
  std::vector<float> q(16, 10.0f), k(static_cast<std::size_t>(context) * 16, -10.0f),
      v(static_cast<std::size_t>(context) * 16, 1.0f);
  std::fill_n(k.begin() + 300 * 16, 16, 10.0f);
  std::fill_n(v.begin() + 300 * 16, 16, 7.0f);
  for (Bench& bench : cpu_benches()) {
    AttentionCase attention(spec, DType::f32, 16, 1);
    attention.add(context, 1, q, k, v);
    EXPECT_EQ(attention.run(bench, attention.write(bench)).values, std::vector<float>(16, 7.0f)) << bench.ops().name();
  }
}

}  // namespace
}  // namespace conclave::test
