// What the hybrid fixtures do not hold: layers of experts, and configurations that are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "conclave/error.h"
#include "tests/models/fixture.h"
#include "tests/models/random_hybrid.h"

namespace conclave {
namespace {

using Vector = std::vector<double>;
constexpr auto kHidden = static_cast<std::size_t>(RandomHybrid::kHidden);

Vector values(const RandomHybrid& m, const std::string& name) {
  const std::vector<float>& data = m.tensors.at(name).data;
  return {data.begin(), data.end()};
}

Vector product(const RandomHybrid& m, const std::string& name, const Vector& x) {
  const Vector w = values(m, name + ".weight");
  Vector y(w.size() / x.size());
  for (std::size_t r = 0; r < y.size(); ++r)
    y[r] = std::inner_product(x.begin(), x.end(), w.begin() + static_cast<std::ptrdiff_t>(r * x.size()), 0.0);
  return y;
}

Vector normed(const RandomHybrid& m, const std::string& name, Vector x) {
  const double factor =
      1.0 / std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size()) + 1e-5);
  const Vector w = values(m, name);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= factor * w[i];
  return x;
}

Vector squared_relu_mlp(const RandomHybrid& m, const std::string& at, const Vector& x) {
  Vector inner = product(m, at + "up_proj", x);
  for (double& v : inner) v = v > 0 ? v * v : 0;
  return product(m, at + "down_proj", inner);
}

// The two best by sigmoid plus bias, weighed by their sigmoids alone: these sum to the scaling factor.
Vector experts(const RandomHybrid& m, const std::string& at, const Vector& x) {
  Vector score = product(m, at + "gate", x);
  const Vector bias = values(m, at + "gate.e_score_correction_bias");
  for (double& s : score) s = 1.0 / (1.0 + std::exp(-s));
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] + bias[a] > score[b] + bias[b]; });
  const double sum = score[order[0]] + score[order[1]];
  Vector out = squared_relu_mlp(m, at + "shared_experts.", x);
  for (std::size_t e : {order[0], order[1]}) {
    const Vector y = squared_relu_mlp(m, at + "experts." + std::to_string(e) + ".", x);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += 2.5 * score[e] / sum * y[i];
  }
  return out;
}

// Attention that adds nothing, then experts: each token's logits are its own.
TEST(Hybrid, ExpertsAreChosenByBiasedSigmoidAndWeighedWithoutTheBias) {
  RandomHybrid model("*E");
  for (float& v : model.tensors["backbone.layers.0.mixer.o_proj.weight"].data) v = 0;
  const auto folder = model.write("hybrid_experts");
  std::vector<std::int32_t> ids(RandomHybrid::kVocab);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<float> want;
  const Vector embedding = values(model, "backbone.embeddings.weight");
  for (std::size_t id = 0; id < ids.size(); ++id) {
    Vector x(embedding.begin() + static_cast<std::ptrdiff_t>(id * kHidden),
             embedding.begin() + static_cast<std::ptrdiff_t>((id + 1) * kHidden));
    const Vector update = experts(model, "backbone.layers.1.mixer.", normed(model, "backbone.layers.1.norm.weight", x));
    for (std::size_t i = 0; i < kHidden; ++i) x[i] += update[i];
    for (double v : product(model, "lm_head", normed(model, "backbone.norm_f.weight", x))) want.push_back(static_cast<float>(v));
  }
  for (Path path : {Path::reference, Path::fast}) {
    const auto got = load_fixture(open_folder(folder), path).run(ids, 0, DType::f32).logits;
    const Difference d = compare(got, want, RandomHybrid::kVocab);
    EXPECT_LT(d.rms_rel, path == Path::reference ? 1e-6 : 1e-3);
    EXPECT_GT(d.cos_min, 1 - 1e-5);
  }
}

TEST(Hybrid, AllKindsOfLayersInOneModelAndTheirStateIsNoted) {
  const auto folder = RandomHybrid("MEM*-ME").write("hybrid_all");
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  const LoadedModel reference = load_fixture(open_folder(folder), Path::reference),
                    fast = load_fixture(open_folder(folder), Path::fast);
  const auto want = reference.run(ids, 8, DType::f32);
  EXPECT_LT(compare(fast.run(ids, 8, DType::f32).logits, want.logits, RandomHybrid::kVocab).rms_rel, 1e-3);
  for (int chunk : {1, 3, 4}) EXPECT_EQ(reference.run(ids, 8, DType::f32, chunk).logits, want.logits);
  const KvSpec spec = fast.model->kv_spec();
  EXPECT_EQ(spec.layers, 1);
  EXPECT_EQ(spec.recurrent.layers, 3);
  EXPECT_EQ(spec.recurrent.sequence_bytes(), 3 * 4 * (3 * (64 + 2 * 16) + 4 * 16 * 8));
  ASSERT_FALSE(fast.model->report().notes.empty());
  EXPECT_NE(fast.model->report().notes[0].find("3 layers keep"), std::string::npos) << fast.model->report().notes[0];
}

TEST(Hybrid, TheOtherRootOfNamesLoadsToo) {
  RandomHybrid model("M*");
  const auto before = load_fixture(open_folder(model.write("hybrid_backbone")), Path::reference).run({1, 2, 3}, 0, DType::f32);
  std::map<std::string, RandomHybrid::Values> renamed;
  for (auto& [name, tensor] : model.tensors)
    renamed[name.starts_with("backbone.") ? "model." + name.substr(9) : name] = std::move(tensor);
  renamed["mtp.layers.0.norm.weight"] = {{4}, {0, 0, 0, 0}};
  model.tensors = std::move(renamed);
  const auto after = load_fixture(open_folder(model.write("hybrid_model")), Path::reference).run({1, 2, 3}, 0, DType::f32);
  EXPECT_EQ(after.logits, before.logits);
}

std::string refusal(const RandomHybrid& model) {
  try {
    load_fixture(open_folder(model.write("hybrid_refused")), Path::reference);
  } catch (const Error& e) {
    return e.what();
  }
  return "(loaded)";
}

TEST(Hybrid, ProblemsOfTheConfigurationAreToldTogether) {
  RandomHybrid model("M*E");
  model.config["num_hidden_layers"] = 4;
  model.config["n_groups"] = 3;
  model.config["mamba_head_dim"] = 0;
  model.config["mlp_hidden_act"] = "silu";
  model.config["use_bias"] = true;
  model.config["moe_latent_size"] = 128;
  model.config["time_step_limit"] = {0.001, 0.1};
  model.config.erase("moe_intermediate_size");
  const std::string words = refusal(model);
  for (const char* part : {"num_hidden_layers is 4", "has 3", "not a multiple of n_groups 3", "mamba_head_dim", "mlp_hidden_act",
                           "use_bias", "moe_latent_size", "time_step_limit", "moe_intermediate_size is missing"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin: " << words;
}

TEST(Hybrid, GroupsMustDivideTheExperts) {
  RandomHybrid model("*E");
  model.config["n_group"] = 4;
  model.config["topk_group"] = 5;
  const std::string words = refusal(model);
  const std::string experts = std::to_string(RandomHybrid::kExperts);
  for (const std::string& part : {"n_routed_experts " + experts + " is not a multiple of n_group 4",
                                  std::string("topk_group: expected an integer from 1 to 4")})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin: " << words;
}

TEST(Hybrid, UnknownKindsOfLayersAreNamed) {
  RandomHybrid model("M*");
  model.config["hybrid_override_pattern"] = "MX";
  EXPECT_NE(refusal(model).find("layer 1 is 'X'"), std::string::npos);
  model.config["layers_block_type"] = {"mamba", "conv"};
  EXPECT_NE(refusal(model).find("layer 1 is 'conv'"), std::string::npos);
  model.config["layers_block_type"] = {"mamba", "mamba"};
  EXPECT_NE(refusal(model).find("expected a layer of attention"), std::string::npos);
}

TEST(Hybrid, MissingAndMisshapedTensorsAreToldTogether) {
  RandomHybrid model("M*");
  model.tensors.erase("backbone.layers.0.mixer.A_log");
  model.tensors["backbone.layers.0.mixer.conv1d.weight"].shape = {96, 4};
  model.tensors["backbone.layers.0.mixer.left"] = {{1}, {0}};
  const std::string words = refusal(model);
  for (const char* part : {"A_log is missing (values [4])", "conv1d.weight: expected [96, 1, 4]", "found [96, 4]", "mixer.left"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin: " << words;
}

}  // namespace
}  // namespace conclave
