// Stacked experts seen one by one: every layout in memory, then whole expert layers of two published forms against outside numbers.
#include "quant/stacked_experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "checkpoint/checkpoint.h"
#include "conclave/error.h"
#include "quant/codec.h"
#include "quant/elements.h"
#include "tests/quant/decoded.h"
#include "tests/quant/tensor_map.h"

namespace conclave {
namespace {

const std::string kExperts = "model.layers.0.mlp.experts";
constexpr std::int64_t kE = 2, kHidden = 3, kInner = 2;

// Weight (row, col) of expert e's projection p (0 gate, 1 up, 2 down): a number that tells all four.
float value(std::int64_t e, int p, std::int64_t row, std::int64_t col) {
  return static_cast<float>(1000 * e + 100 * p + 10 * row + col);
}

// [E, 2I, H] and [E, H, I] in memory, or with the last two dimensions exchanged.
TensorMap stacked(const StackedLayout& layout) {
  std::vector<float> gate_up(kE * 2 * kInner * kHidden), down(kE * kHidden * kInner), bias(kE * 2 * kInner);
  for (std::int64_t e = 0; e < kE; ++e) {
    for (std::int64_t row = 0; row < 2 * kInner; ++row) {
      const int p = static_cast<int>(layout.interleaved ? row % 2 : row / kInner);
      const std::int64_t own_row = layout.interleaved ? row / 2 : row % kInner;
      bias[static_cast<std::size_t>(e * 2 * kInner + row)] = value(e, p, own_row, 9);
      for (std::int64_t col = 0; col < kHidden; ++col) {
        const std::int64_t at = layout.transposed ? col * 2 * kInner + row : row * kHidden + col;
        gate_up[static_cast<std::size_t>(e * 2 * kInner * kHidden + at)] = value(e, p, own_row, col);
      }
    }
    for (std::int64_t row = 0; row < kHidden; ++row)
      for (std::int64_t col = 0; col < kInner; ++col)
        down[static_cast<std::size_t>(e * kHidden * kInner + (layout.transposed ? col * kHidden + row : row * kInner + col))] =
            value(e, 2, row, col);
  }
  TensorMap t;
  t.put<float>(kExperts + ".gate_up_proj", layout.transposed ? Shape{kE, kHidden, 2 * kInner} : Shape{kE, 2 * kInner, kHidden},
               gate_up);
  t.put<float>(kExperts + ".down_proj", layout.transposed ? Shape{kE, kInner, kHidden} : Shape{kE, kHidden, kInner}, down);
  t.put<float>(kExperts + ".gate_up_proj_bias", {kE, 2 * kInner}, bias);
  return t;
}

TEST(StackedExperts, EveryLayoutGivesTheSameMatrices) {
  for (const bool interleaved : {false, true}) {
    for (const bool transposed : {false, true}) {
      const StackedLayout layout{kE, interleaved, transposed};
      const TensorMap source = stacked(layout);
      const StackedExperts experts(source, layout);
      const char* names[] = {"gate_proj", "up_proj", "down_proj"};
      for (std::int64_t e = 0; e < kE; ++e) {
        for (int p = 0; p < 3; ++p) {
          const std::string module = kExperts + "." + std::to_string(e) + "." + names[p];
          const std::int64_t rows = p == 2 ? kHidden : kInner, cols = p == 2 ? kInner : kHidden;
          std::vector<std::string> problems;
          const QuantMatrix m = codec_for(kF32).bind(experts, module, kF32, rows, cols, problems);
          ASSERT_TRUE(m) << problems[0];
          const std::vector<float> values = decode_all(m);
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c)
              ASSERT_EQ(values[static_cast<std::size_t>(r * cols + c)], value(e, p, r, c)) << module;
          if (p == 2) continue;
          const auto bias = experts.find(module + ".bias");
          ASSERT_TRUE(bias && bias->shape == Shape{kInner});
          for (std::int64_t r = 0; r < kInner; ++r) EXPECT_EQ(load_float(*bias, r * bias->stride[0]), value(e, p, r, 9));
        }
      }
    }
  }
}

TEST(StackedExperts, GlobalScalesForAllForEachAndForEachHalf) {
  const auto scale = [](const TensorMap& t, const std::string& linear) {
    const auto found = StackedExperts(t, {2, false, false}).find(kExperts + linear + ".weight_scale_2");
    EXPECT_TRUE(found && found->shape == Shape{});
    return found ? load_float(*found, 0) : 0.0f;
  };
  TensorMap t;
  t.put<float>(kExperts + ".gate_up_proj_weight_scale_2", {}, {3});
  EXPECT_EQ(scale(t, ".1.up_proj"), 3.0f);
  t.put<float>(kExperts + ".gate_up_proj_weight_scale_2", {2}, {3, 4});
  EXPECT_EQ(scale(t, ".1.up_proj"), 4.0f);
  t.put<float>(kExperts + ".gate_up_proj_weight_scale_2", {2, 2}, {3, 4, 5, 6});
  EXPECT_EQ(scale(t, ".1.gate_proj"), 5.0f);
  EXPECT_EQ(scale(t, ".1.up_proj"), 6.0f);
  t.put<float>(kExperts + ".gate_up_proj_weight_scale_2", {3}, {3, 4, 5});
  EXPECT_THROW(StackedExperts(t, {2, false, false}).find(kExperts + ".0.up_proj.weight_scale_2"), Error);
}

TEST(StackedExperts, OtherNamesPassAndWrongShapesAreRefused) {
  TensorMap t = stacked({kE, false, false});
  t.put<float>("model.norm.weight", {1}, {7});
  const StackedExperts experts(t, {kE, false, false});
  EXPECT_TRUE(experts.find("model.norm.weight"));
  EXPECT_FALSE(experts.find(kExperts + ".2.up_proj.weight")) << "there are two experts";
  EXPECT_FALSE(experts.find(kExperts + ".0.up_proj.weight_scale"));
  EXPECT_FALSE(experts.find(kExperts + ".99999999999999999999.up_proj.weight"));
  EXPECT_THROW(StackedExperts(t, {5, false, false}).find(kExperts + ".0.up_proj.weight"), Error);
  t.put<float>(kExperts + ".gate_up_proj", {kE, 3, 2}, std::vector<float>(12));
  EXPECT_THROW(experts.find(kExperts + ".0.up_proj.weight"), Error);
}

// ---- whole layers --------------------------------------------------------------------------------------------------------------

std::vector<float> floats(const Checkpoint& file, const std::string& name) {
  const auto view = file.find(name);
  if (!view) throw std::runtime_error("no tensor " + name);
  std::vector<float> out;
  for (std::int64_t i = 0; i < view->shape.elements(); ++i)
    out.push_back(view->dtype == DType::i32   ? static_cast<float>(load<std::int32_t>(view->data, i))
                  : view->dtype == DType::i64 ? static_cast<float>(load<std::int64_t>(view->data, i))
                                              : load_float(*view, i));
  return out;
}

std::vector<double> apply(const std::vector<float>& matrix, const std::vector<double>& x, const std::vector<double>& bias) {
  std::vector<double> y = bias;
  for (std::size_t r = 0; r < y.size(); ++r)
    for (std::size_t k = 0; k < x.size(); ++k) y[r] += static_cast<double>(matrix[r * x.size() + k]) * x[k];
  return y;
}

struct Mlp {
  std::vector<float> gate, up, down;
  std::vector<double> gate_bias, up_bias, down_bias;
};

Mlp load_mlp(const TensorSource& source, const std::string& module, const QuantScheme& scheme, std::int64_t hidden,
             std::int64_t inner) {
  std::vector<std::string> problems;
  const auto matrix = [&](const char* part, std::int64_t rows, std::int64_t cols) {
    return decode_all(codec_for(scheme).bind(source, module + part, scheme, rows, cols, problems));
  };
  const auto bias = [&](const char* part, std::int64_t n) {
    std::vector<double> out(static_cast<std::size_t>(n), 0.0);
    if (const auto view = source.find(module + part))
      for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = load_float(*view, i * view->stride[0]);
    return out;
  };
  Mlp m{matrix(".gate_proj", inner, hidden), matrix(".up_proj", inner, hidden), matrix(".down_proj", hidden, inner),
        bias(".gate_proj.bias", inner),      bias(".up_proj.bias", inner),      bias(".down_proj.bias", hidden)};
  EXPECT_TRUE(problems.empty()) << problems[0];
  return m;
}

std::vector<double> run_mlp(const Mlp& m, const std::vector<double>& x, bool clamped) {
  const std::vector<double> g = apply(m.gate, x, m.gate_bias), u = apply(m.up, x, m.up_bias);
  std::vector<double> h(g.size());
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double gate = clamped ? std::min(g[i], 7.0) : g[i];
    const double up = clamped ? std::clamp(u[i], -7.0, 7.0) + 1 : u[i];
    h[i] = gate / (1 + std::exp((clamped ? -1.702 : -1.0) * gate)) * up;
  }
  return apply(m.down, h, m.down_bias);
}

double relative_error(const std::vector<double>& ours, const std::vector<float>& theirs) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    error += std::pow(ours[i] - static_cast<double>(theirs[i]), 2);
    power += std::pow(static_cast<double>(theirs[i]), 2);
  }
  return std::sqrt(error / power);
}

std::filesystem::path shared_fixture(const std::string& name) {
  return std::filesystem::path(CONCLAVE_SOURCE_DIR) / "../shared/fixtures" / name;
}

void check_gpt_oss(const std::string& name, const QuantScheme& scheme, const StackedLayout& layout, std::int64_t hidden,
                   std::int64_t inner) {
  const auto folder = shared_fixture(name);
  const auto checkpoint = Checkpoint::open(open_folder(folder));
  const auto reference = MappedFile::open(folder / "moe_bf16.safetensors");
  const auto numbers = Checkpoint::open(embedded_files("reference", {{"model.safetensors", reference->bytes()}}));
  const StackedExperts experts(*checkpoint, layout);
  const std::vector<float> in = floats(*numbers, "in"), ids = floats(*numbers, "topk_ids"),
                           weights = floats(*numbers, "topk_weights");
  const std::size_t tokens = in.size() / static_cast<std::size_t>(hidden), top_k = ids.size() / tokens,
                    width = static_cast<std::size_t>(hidden);
  std::vector<double> out(in.size(), 0.0);
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::vector<double> x(in.begin() + static_cast<std::ptrdiff_t>(t * width),
                                in.begin() + static_cast<std::ptrdiff_t>((t + 1) * width));
    for (std::size_t j = 0; j < top_k; ++j) {
      const std::string module = "model.layers.1.mlp.experts." + std::to_string(static_cast<int>(ids[t * top_k + j]));
      const std::vector<double> y = run_mlp(load_mlp(experts, module, scheme, hidden, inner), x, true);
      for (std::size_t i = 0; i < width; ++i) out[t * width + i] += static_cast<double>(weights[t * top_k + j]) * y[i];
    }
  }
  EXPECT_LT(relative_error(out, floats(*numbers, "routed_out")), 1e-5) << name;
}

TEST(StackedExpertsOfGptOss, WholeLayersEqualTheReference) {
  if (!std::filesystem::exists(shared_fixture("gpt_oss-mxfp4")))
    GTEST_SKIP() << "../shared/fixtures is not there: gpt-oss layers are not computed";
  check_gpt_oss("gpt_oss-mxfp4", kMxfp4, {8, true, false}, 128, 256);
  check_gpt_oss("gpt_oss-mxfp4-ragged", kMxfp4, {8, true, false}, 160, 96);
  check_gpt_oss("gpt_oss-bf16", kBf16, {8, true, true}, 128, 64);
}

TEST(StackedExpertsOfLlama4, WholeLayerEqualsTheReference) {
  const auto folder = shared_fixture("llama4-nvfp4-nested");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "../shared/fixtures is not there: a Llama-4 layer is not computed";
  const auto checkpoint = Checkpoint::open(open_folder(folder));
  const auto reference = MappedFile::open(folder / "moe_bf16.safetensors");
  const auto numbers = Checkpoint::open(embedded_files("reference", {{"model.safetensors", reference->bytes()}}));
  const StackedExperts experts(*checkpoint, {8, false, true});
  const std::vector<float> in = floats(*numbers, "in"), ids = floats(*numbers, "topk_ids"),
                           weights = floats(*numbers, "topk_weights");
  const std::string layer = "language_model.model.layers.1.feed_forward.";
  const Mlp shared = load_mlp(experts, layer + "shared_expert", kNvfp4, 256, 128);
  std::vector<double> out;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    std::vector<double> x(in.begin() + static_cast<std::ptrdiff_t>(t * 256),
                          in.begin() + static_cast<std::ptrdiff_t>((t + 1) * 256));
    const std::vector<double> common = run_mlp(shared, x, false);
    for (double& v : x) v *= static_cast<double>(weights[t]);  // the weight multiplies the input
    const Mlp expert = load_mlp(experts, layer + "experts." + std::to_string(static_cast<int>(ids[t])), kNvfp4, 256, 128);
    const std::vector<double> routed = run_mlp(expert, x, false);
    for (std::size_t i = 0; i < 256; ++i) out.push_back(common[i] + routed[i]);
  }
  EXPECT_LT(relative_error(out, floats(*numbers, "out")), 1e-5);
}

}  // namespace
}  // namespace conclave
