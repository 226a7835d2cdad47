// Routing against numbers that numpy computed from the published formulas (tools/make_routing_goldens.py), and the rules for what
// formulas leave open: ties, NaN, infinities, zero sums.
#include "moe/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "base/bf16.h"
#include "base/check.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "tests/moe/routing_methods.h"

namespace conclave::moe {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Choice {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

Choice route(const RoutingSpec& spec, const std::vector<float>& logits, int k, const std::vector<float>& bias = {}) {
  Choice out{std::vector<std::int32_t>(static_cast<std::size_t>(k), -7), std::vector<float>(static_cast<std::size_t>(k), kNaN)};
  route_row(spec, logits, bias, out.ids, out.weights);
  return out;
}

const RoutingSpec& method(std::string_view name) {
  const auto* at = std::ranges::find(kRoutingMethods, name, &RoutingMethod::name);
  CONCLAVE_CHECK(at != std::end(kRoutingMethods), std::string(name));
  return at->spec;
}

std::vector<float> floats_of(const std::string& hex) {
  std::vector<float> out;
  for (std::size_t i = 0; i < hex.size(); i += 8) {
    std::uint32_t bits = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 8, bits, 16);
    out.push_back(std::bit_cast<float>(bits));
  }
  return out;
}

TEST(Routing, EqualsNumpyForEveryMethod) {
  const auto file = MappedFile::open(std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/routing/goldens.json");
  const Json cases = parse_json(file->text(), "goldens.json");
  std::set<std::string> methods;
  for (const Json& c : cases) {
    const std::string name = c["method"];
    SCOPED_TRACE(name + ", " + c["name"].get<std::string>());
    methods.insert(name);
    const std::vector<float> logits = floats_of(c["logits"]),
                             bias = c.contains("bias") ? floats_of(c["bias"]) : std::vector<float>();
    const std::vector<std::int32_t> ids = c["ids"];
    const std::vector<float> weights = c["weights"];
    const Choice got = route(method(name), logits, static_cast<int>(ids.size()), bias);
    EXPECT_EQ(got.ids, ids);
    for (std::size_t j = 0; j < weights.size(); ++j) EXPECT_NEAR(got.weights[j], weights[j], 2e-7 * std::abs(weights[j]));
  }
  EXPECT_EQ(methods.size(), std::size(kRoutingMethods));
  EXPECT_GT(cases.size(), 130u);
}

// Negative logits only, as many experts as no power of two, both types of logits: nothing that pads may win.
TEST(Routing, B031_AllNegativeLogitsChooseAsAPlainSoftmaxDoes) {
  for (const std::size_t experts : {256u, 96u})
    for (const bool rounded : {false, true})
      for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<float> uniform(-30.0f, -20.0f);
        std::vector<float> logits(experts);
        for (float& z : logits) z = rounded ? round_to_bf16(uniform(random)) : uniform(random);
        std::vector<std::int32_t> order(experts);
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, std::greater(), [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; });
        double sum = 0;
        for (const float z : logits) sum += std::exp(static_cast<double>(z));
        const Choice got = route(routing(Score::softmax, Renorm::none), logits, 8);
        ASSERT_EQ(got.ids, std::vector<std::int32_t>(order.begin(), order.begin() + 8)) << experts << " experts, seed " << seed;
        for (std::size_t j = 0; j < 8; ++j) {
          const double weight = std::exp(static_cast<double>(logits[static_cast<std::size_t>(order[j])])) / sum;
          EXPECT_NEAR(got.weights[j], weight, 1e-6 * weight);
        }
      }
}

TEST(Routing, TiesGoToTheLowerIndex) {
  for (const RoutingMethod& m : kRoutingMethods) {
    const int k = m.top_k != 0 ? m.top_k : 4;
    const Choice got = route(m.spec, std::vector<float>(64, 0.25f), k,
                             m.spec.selection_bias ? std::vector<float>(64, 0.5f) : std::vector<float>());
    for (int j = 0; j < k; ++j) EXPECT_EQ(got.ids[static_cast<std::size_t>(j)], j) << m.name;
  }
}

TEST(Routing, NothingFiniteGivesTheFirstIdsAndNoWeight) {
  for (const RoutingMethod& m : kRoutingMethods) {
    for (const float z : {kNaN, -kInf}) {
      const int k = m.top_k != 0 ? m.top_k : 3;
      std::vector<float> logits(64, z);
      logits[5] = -kInf;
      const Choice got = route(m.spec, logits, k, m.spec.selection_bias ? std::vector<float>(64, 0.1f) : std::vector<float>());
      for (int j = 0; j < k; ++j) {
        EXPECT_EQ(got.ids[static_cast<std::size_t>(j)], j) << m.name;
        EXPECT_EQ(got.weights[static_cast<std::size_t>(j)], 0.0f) << m.name;
      }
    }
  }
}

TEST(Routing, NaNIsChosenLastAndWeighsNothing) {
  for (const RoutingMethod& m : kRoutingMethods) {
    if (m.spec.groups > 1) continue;
    const std::vector<float> logits = {kNaN, 1.0f, kNaN, 2.0f},
                             bias = m.spec.selection_bias ? std::vector<float>(4, 0.0f) : std::vector<float>();
    const int k = m.top_k != 0 ? m.top_k : 3;
    const Choice got = route(m.spec, logits, k, bias);
    EXPECT_EQ(got.ids[0], 3) << m.name;
    EXPECT_GT(got.weights[0], 0.0f) << m.name;
    if (k < 3) continue;
    EXPECT_EQ(got.ids[1], 1) << m.name;
    EXPECT_EQ(got.ids[2], 0) << m.name;
    EXPECT_EQ(got.weights[2], 0.0f) << m.name;
    // Without the NaNs the others weigh the same.
    const Choice alone = route(m.spec, {1.0f, 2.0f}, 2, bias.empty() ? bias : std::vector<float>(2, 0.0f));
    EXPECT_EQ(got.weights[0], alone.weights[0]) << m.name;
    EXPECT_EQ(got.weights[1], alone.weights[1]) << m.name;
  }
}

TEST(Routing, NaNInAGroupDoesNotSpoilTheGroup) {
  const RoutingSpec spec = grouped(routing(Score::sigmoid, Renorm::sum), 4, 1, GroupScore::sum_of_two_best);
  std::vector<float> logits(16, -1.0f);
  logits[8] = 5.0f;
  logits[9] = kNaN;
  logits[10] = 4.0f;
  const Choice got = route(spec, logits, 4);
  EXPECT_EQ(got.ids, (std::vector<std::int32_t>{8, 10, 11, 9}));
  EXPECT_EQ(got.weights[3], 0.0f);
}

TEST(Routing, InfiniteLogitsGiveFiniteWeights) {
  for (const RoutingMethod& m : kRoutingMethods) {
    std::vector<float> logits(64, -3.0f);
    logits[40] = kInf;
    logits[41] = -kInf;
    const int k = m.top_k != 0 ? m.top_k : 2;
    const Choice got = route(m.spec, logits, k, m.spec.selection_bias ? std::vector<float>(64, 0.0f) : std::vector<float>());
    EXPECT_EQ(got.ids[0], 40) << m.name;
    for (const float w : got.weights) EXPECT_TRUE(std::isfinite(w)) << m.name;
  }
  const Choice two = route(method("default"), {kInf, 0.0f, kInf}, 2);
  EXPECT_EQ(two.ids, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(two.weights, (std::vector<float>{0.5f, 0.5f}));
}

TEST(Routing, ZeroSumsGiveZeroWeights) {
  // Every sigmoid rounds to 0.
  const Choice low = route(method("sigmoid_renorm"), std::vector<float>(8, -200.0f), 2);
  EXPECT_EQ(low.weights, (std::vector<float>{0.0f, 0.0f}));
  const Choice opposite = route(routing(Score::identity, Renorm::sum), {1.0f, -1.0f}, 2);
  EXPECT_EQ(opposite.weights, (std::vector<float>{0.0f, 0.0f}));
}

TEST(Routing, BiasChoosesButNeverWeighs) {
  const RoutingSpec spec = biased(routing(Score::sigmoid, Renorm::none));
  // 1000 swallows the score's last bits: recovering it as (s + b) - b would show.
  const Choice got = route(spec, {0.3f, 0.1f, 0.2f}, 2, {0.0f, 1000.0f, 0.0f});
  EXPECT_EQ(got.ids, (std::vector<std::int32_t>{1, 0}));
  EXPECT_FLOAT_EQ(got.weights[0], static_cast<float>(1 / (1 + std::exp(-0.1))));
}

TEST(Routing, ChoosesDistinctExpertsInRangeUpToTheLimits) {
  for (const RoutingMethod& m : kRoutingMethods) {
    std::vector<float> logits(kMaxExperts), bias;
    for (std::size_t e = 0; e < logits.size(); ++e) logits[e] = static_cast<float>((e * 2654435761u) % 1000) / 100.0f - 5.0f;
    if (m.spec.selection_bias) bias.assign(logits.size(), 0.0f);
    const Choice got = route(m.spec, logits, m.top_k != 0 ? m.top_k : 32, bias);
    EXPECT_EQ(std::set<std::int32_t>(got.ids.begin(), got.ids.end()).size(), got.ids.size()) << m.name;
    for (const std::int32_t id : got.ids) EXPECT_TRUE(id >= 0 && id < static_cast<std::int32_t>(kMaxExperts)) << m.name;
    EXPECT_TRUE(m.spec.selection_bias || std::ranges::is_sorted(got.weights, std::greater())) << m.name;
  }
}

TEST(Routing, AllExpertsMayBeChosen) {
  const Choice got = route(method("renormalize_naive"), {1.0f, 3.0f, 2.0f}, 3);
  EXPECT_EQ(got.ids, (std::vector<std::int32_t>{1, 2, 0}));
  EXPECT_NEAR(got.weights[0] + got.weights[1] + got.weights[2], 1.0f, 1e-6f);
}

TEST(Routing, SaysWhatItIs) {
  EXPECT_EQ(to_string(method("renormalize_naive")), "softmax renormalised");
  EXPECT_EQ(to_string(method("renormalize")), "softmax of the chosen");
  EXPECT_EQ(to_string(method("deepseek_v3")),
            "sigmoid renormalised, biased choice, 4 of 8 groups by their two best, scaled by 2.5");
  EXPECT_EQ(to_string(method("llama4")), "sigmoid, chosen by logit, weight on input");
  std::set<std::string> words;
  for (const RoutingMethod& m : kRoutingMethods) words.insert(to_string(m.spec));
  EXPECT_EQ(words.size(), std::size(kRoutingMethods));
}

}  // namespace
}  // namespace conclave::moe
