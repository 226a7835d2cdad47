#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/engine/fake_model.h"

namespace conclave {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::int32_t sample(std::span<const float> logits, const Sampling& sampling, std::uint64_t seed = 0, std::uint64_t position = 0,
                    const TokenCounts& counts = {}, std::span<const std::int32_t> banned = {}) {
  Sampler sampler(static_cast<std::int32_t>(logits.size()));
  return sampler.sample({logits, sampling, counts, banned, seed, position});
}

Sampling greedy() {
  Sampling s;
  s.temperature = 0.0f;
  return s;
}

std::vector<float> some_logits(std::size_t vocab, std::int32_t salt) {
  std::vector<float> logits(vocab);
  const std::int32_t tokens[] = {salt};
  testing::fake_logits(tokens, logits);
  return logits;
}

// What the sampler should do, in double and with a full sort: probabilities by id.
std::vector<double> expected_distribution(std::span<const float> logits, const Sampling& s) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  std::vector<double> p(logits.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    p[i] = std::exp((double{logits[i]} - double{logits[order[0]]}) / double{s.temperature});
  const auto total = [&] { return std::accumulate(p.begin(), p.end(), 0.0); };
  for (double& v : p) v = v < double{s.min_p} ? 0.0 : v;  // the likeliest has weight 1
  if (s.top_k > 0)
    for (std::size_t r = static_cast<std::size_t>(s.top_k); r < order.size(); ++r) p[order[r]] = 0.0;
  double sum = 0.0;
  const double mass = double{s.top_p} * total();
  for (std::size_t id : order) {
    if (sum >= mass) p[id] = 0.0;
    sum += p[id];
  }
  const double all = total();
  for (double& v : p) v /= all;
  return p;
}

TEST(Sampler, GreedyTakesTheLowestIdOfEquals) {
  EXPECT_EQ(sample(std::vector<float>{1.0f, 3.0f, 3.0f, 2.0f}, greedy()), 1);
  EXPECT_EQ(sample(std::vector<float>{-kInfinity, -5.0f, kNan, -5.0f}, greedy()), 1);
}

TEST(Sampler, NothingUsableIsSaidAndNeverChosen) {
  for (float temperature : {0.0f, 1.0f}) {
    Sampling s;
    s.temperature = temperature;
    EXPECT_EQ(sample(std::vector<float>{kNan, -kInfinity, kNan}, s), Sampler::kNone);
    EXPECT_EQ(sample(std::vector<float>{kNan, 0.0f, -kInfinity}, s), 1);
    EXPECT_EQ(sample(std::vector<float>{5.0f, kInfinity, kInfinity}, s), 1);
  }
}

TEST(Sampler, TopKOfOneAndTinyTopPAreGreedy) {
  const auto logits = some_logits(1000, 7);
  const std::int32_t best = sample(logits, greedy());
  for (std::uint64_t position = 0; position < 50; ++position) {
    Sampling top_k, top_p, min_p;
    top_k.top_k = 1;
    top_p.top_p = 1e-6f;
    min_p.min_p = 1.0f;
    EXPECT_EQ(sample(logits, top_k, 1, position), best);
    EXPECT_EQ(sample(logits, top_p, 1, position), best);
    EXPECT_EQ(sample(logits, min_p, 1, position), best);
  }
}

TEST(Sampler, DependsOnSeedAndPositionOnly) {
  const auto logits = some_logits(500, 3);
  Sampling s;
  s.top_p = 0.9f;
  Sampler used(500);
  std::vector<std::int32_t> first, again;
  for (std::uint64_t position = 0; position < 64; ++position) first.push_back(sample(logits, s, 42, position));
  for (std::uint64_t position = 64; position-- > 0;) {
    used.sample({some_logits(500, 9), s, {}, {}, 5, position});  // other work in between
    again.push_back(used.sample({logits, s, {}, {}, 42, position}));
  }
  std::reverse(again.begin(), again.end());
  EXPECT_EQ(first, again);
  std::vector<std::int32_t> other;
  for (std::uint64_t position = 0; position < 64; ++position) other.push_back(sample(logits, s, 43, position));
  EXPECT_NE(first, other);
}

struct Case {
  const char* name;
  float temperature, top_p, min_p;
  std::int32_t top_k;
};

class Distribution : public ::testing::TestWithParam<Case> {};

// 20,000 draws against the probabilities of a slow sampler: chi-square over the tokens that are expected at least five times,
// and no draw of a token that was cut.
TEST_P(Distribution, IsTheOneThatTheParametersDescribe) {
  const Case& c = GetParam();
  Sampling s;
  s.temperature = c.temperature;
  s.top_p = c.top_p;
  s.min_p = c.min_p;
  s.top_k = c.top_k;
  const auto logits = some_logits(300, 11);
  const auto expected = expected_distribution(logits, s);
  constexpr int kDraws = 20000;
  std::vector<int> seen(logits.size(), 0);
  Sampler sampler(300);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::int32_t id = sampler.sample({logits, s, {}, {}, 1234, i});
    ASSERT_GT(expected[static_cast<std::size_t>(id)], 0.0) << "token " << id << " was cut";
    ++seen[static_cast<std::size_t>(id)];
  }
  double chi_square = 0.0, rest_seen = 0.0, rest_expected = 0.0;
  int cells = 0;
  for (std::size_t id = 0; id < seen.size(); ++id) {
    const double e = expected[id] * kDraws;
    if (e < 5.0) {
      rest_seen += seen[id];
      rest_expected += e;
      continue;
    }
    chi_square += (seen[id] - e) * (seen[id] - e) / e;
    ++cells;
  }
  if (rest_expected >= 5.0) {
    chi_square += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    ++cells;
  }
  const double freedom = std::max(1, cells - 1);
  EXPECT_LT(chi_square, freedom + 4.0 * std::sqrt(2.0 * freedom)) << "with " << freedom << " degrees of freedom";
}

INSTANTIATE_TEST_SUITE_P(Sampler, Distribution,
                         ::testing::Values(Case{"plain", 1.0f, 1.0f, 0.0f, 0}, Case{"cool", 0.6f, 1.0f, 0.0f, 0},
                                           Case{"hot", 2.0f, 1.0f, 0.0f, 0}, Case{"top_k", 1.0f, 1.0f, 0.0f, 20},
                                           Case{"top_p", 1.0f, 0.8f, 0.0f, 0}, Case{"wide_top_p", 1.5f, 0.97f, 0.0f, 0},
                                           Case{"min_p", 1.0f, 1.0f, 0.05f, 0}, Case{"all", 0.9f, 0.9f, 0.02f, 40}),
                         [](const auto& test) { return test.param.name; });

TEST(Sampler, PenaltiesEqualThePlainFormula) {
  const auto logits = some_logits(64, 21);
  const std::vector<std::int32_t> prompt{1, 5, 9, 5}, generated{9, 9, 20, 33, 9, 20};
  Sampling s = greedy();
  s.repetition_penalty = 1.3f;
  s.presence_penalty = 0.7f;
  s.frequency_penalty = -0.4f;
  TokenCounts counts(64, 10);
  for (std::int32_t id : prompt) counts.add_prompt(id);
  for (std::int32_t id : generated) counts.add_generated(id);

  std::vector<float> plain = logits;
  for (std::int32_t id = 0; id < 64; ++id) {
    float& logit = plain[static_cast<std::size_t>(id)];
    const auto times = std::count(generated.begin(), generated.end(), id);
    if (times + std::count(prompt.begin(), prompt.end(), id) > 0) logit = logit > 0 ? logit / 1.3f : logit * 1.3f;
    logit -= -0.4f * static_cast<float>(times) + (times > 0 ? 0.7f : 0.0f);
  }
  // Greedy choice after choice, each banned afterwards, gives the whole order.
  std::vector<std::int32_t> banned;
  for (int i = 0; i < 64; ++i) {
    const std::int32_t want = sample(plain, greedy(), 0, 0, {}, banned);
    EXPECT_EQ(sample(logits, s, 0, 0, counts, banned), want);
    banned.push_back(want);
  }
  EXPECT_EQ(sample(logits, s, 0, 0, counts, banned), Sampler::kNone);
}

TEST(Sampler, LogitBiasForcesAndForbids) {
  auto logits = some_logits(64, 2);
  Sampling s = greedy();
  s.logit_bias = {{17, 100.0f}};
  EXPECT_EQ(sample(logits, s), 17);
  const std::int32_t best = sample(logits, greedy());
  s.logit_bias = {{best, -100.0f}};
  EXPECT_NE(sample(logits, s), best);
  s.temperature = 1.0f;
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_NE(sample(logits, s, 3, i), best);
  s.logit_bias = {{4, 1.0f}, {4, 1.5f}};  // twice the same token: both count
  s.temperature = 0.0f;
  logits[4] = logits[static_cast<std::size_t>(best)] - 2.0f;
  EXPECT_EQ(sample(logits, s), 4);
}

}  // namespace
}  // namespace conclave
