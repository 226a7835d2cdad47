// The models that are published, from their config.json alone: tensors, parameters, bytes and cache, against what their makers say.
#include <gtest/gtest.h>

#include <filesystem>

#include "conclave/error.h"
#include "device/device.h"
#include "models/model.h"
#include "models/model_files.h"
#include "ops/ops.h"

namespace conclave {
namespace {

// A folder that holds config.json under another name.
class ConfigOnly final : public FileSet {
 public:
  explicit ConfigOnly(const std::string& name)
      : file_(MappedFile::open(std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/configs" / (name + ".json"))) {}
  std::shared_ptr<const MappedFile> find(std::string_view name) const override { return name == "config.json" ? file_ : nullptr; }
  std::vector<std::string> names() const override { return {"config.json"}; }
  std::string location() const override { return std::string(file_->name()); }

 private:
  std::shared_ptr<const MappedFile> file_;
};

struct Planned {
  std::unique_ptr<Checkpoint> tensors;
  ModelReport report;
};

Planned plan(const std::string& name) {
  Planned out{open_dummy_checkpoint(std::make_shared<ConfigOnly>(name), DummyValues::none), {}};
  const auto device = open_cpu_device(1);
  const auto ops = make_reference_ops();
  out.report = plan_model(*out.tensors, {.device = *device, .ops = *ops, .moe_backend = "reference"})->report();
  return out;
}

struct Published {
  const char* name;
  std::int64_t parameters;  // exact, of the text model: worked out from the widths, apart from this code
  double billions, active;  // as the maker announces them
  int left_out;             // of what is active: OpenAI, MiniMax and NVIDIA leave out the embedding, Zhipu the head too
  std::int64_t kv_values;   // per token, by hand: layers * 2 * kv heads * head size, or layers * (latent + rope)
  std::string names_a_tensor;
};

class PublishedSize : public testing::TestWithParam<Published> {};

TEST_P(PublishedSize, IsWhatItsMakerSays) {
  const Published& p = GetParam();
  const ModelSize size = plan(p.name).report.size;
  EXPECT_EQ(size.parameters, p.parameters);
  // Llama-4's figures count its vision tower, GLM's the layer for predicting two tokens, MiniMax's is rounded.
  EXPECT_NEAR(static_cast<double>(size.parameters) / 1e9, p.billions, 0.013 * p.billions);
  const std::int64_t active = size.active - p.left_out * size.embedding;
  EXPECT_NEAR(static_cast<double>(active) / 1e9, p.active, 0.05 * p.active);
  EXPECT_EQ(size.kv_values_per_token, p.kv_values);
}

TEST_P(PublishedSize, ListsItsTensors) {
  const Published& p = GetParam();
  const Planned planned = plan(p.name);
  EXPECT_TRUE(planned.tensors->info(p.names_a_tensor)) << p.names_a_tensor;
  // The table and the count are two ways to the same bytes, but for NVFP4's global scales, which count as no bytes of a matrix.
  const std::uint64_t listed = planned.tensors->total_bytes(),
                      counted = static_cast<std::uint64_t>(planned.report.size.weight_bytes);
  std::uint64_t globals = 0;
  for (const std::string& name : planned.tensors->names())
    if (name.ends_with("weight_scale_2")) globals += planned.tensors->info(name)->bytes;
  EXPECT_EQ(listed, counted + globals);
}

TEST(LoadFormat, AnUnknownOneIsRefusedByName) {
  try {
    open_weights(std::make_shared<ConfigOnly>("mixtral-8x7b"), "dumy", DummyValues::none);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::bad_input);
    EXPECT_NE(std::string(e.what()).find("'dumy' is not known"), std::string::npos) << e.what();
  }
}

std::string name_of(const testing::TestParamInfo<Published>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (c == '-' || c == '.') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, PublishedSize,
    testing::Values(
        Published{"llama-3.3-70b-fp4", 70553706496, 70.6, 70.6, 0, 80 * 2 * 8 * 128,
                  "model.layers.79.mlp.down_proj.weight_scale_2"},
        Published{"llama-4-scout", 107769861120, 109, 17, 0, 48 * 2 * 8 * 128, "model.layers.47.feed_forward.router.weight"},
        Published{"llama-4-maverick", 400711848960, 400, 17, 0, 48 * 2 * 8 * 128, "model.layers.46.feed_forward.gate_proj.weight"},
        Published{"deepseek-r1", 671026419200, 671, 37, 0, 61 * (512 + 64),
                  "model.layers.60.mlp.experts.255.down_proj.weight_scale_inv"},
        Published{"minimax-m2", 228689764864, 230, 10, 1, 62 * 2 * 8 * 128,
                  "model.layers.61.block_sparse_moe.experts.255.w2.weight_scale_inv"},
        Published{"qwen1.5-moe-a2.7b", 14315784192, 14.3, 2.7, 0, 24 * 2 * 16 * 128,
                  "model.layers.23.mlp.experts.59.down_proj.weight_packed"},
        Published{"qwen3-30b-a3b", 30532122624, 30.5, 3.3, 0, 48 * 2 * 4 * 128, "model.layers.47.mlp.experts.127.down_proj.weight"},
        Published{"gpt-oss-20b", 20914757184, 20.9, 3.6, 1, 24 * 2 * 8 * 64, "model.layers.23.mlp.experts.down_proj_blocks"},
        Published{"gpt-oss-120b", 116829156672, 116.8, 5.1, 1, 36 * 2 * 8 * 64, "model.layers.35.mlp.experts.gate_up_proj_scales"},
        Published{"nemotron-nano-9b-v2", 8888227328, 8.89, 8.89, 0, 4 * 2 * 8 * 128, "backbone.layers.54.mixer.conv1d.weight"},
        Published{"nemotron-3-nano-30b-a3b", 31577940288, 31.6, 3.2, 1, 6 * 2 * 2 * 128,
                  "backbone.layers.51.mixer.experts.127.down_proj.weight"},
        Published{"qwen2.5-7b", 7615616512, 7.61, 7.61, 0, 28 * 2 * 4 * 128, "model.layers.27.self_attn.v_proj.bias"},
        Published{"qwen3-8b", 8190735360, 8.2, 8.2, 0, 36 * 2 * 8 * 128, "model.layers.35.self_attn.k_norm.weight"},
        Published{"mistral-7b-v0.3", 7248023552, 7.25, 7.25, 0, 32 * 2 * 8 * 128, "model.layers.31.mlp.down_proj.weight"},
        Published{"glm-4.5-air", 106852251264, 106, 12, 2, 46 * 2 * 8 * 128, "model.layers.45.mlp.gate.e_score_correction_bias"},
        Published{"glm-4.6", 352797829024, 355, 32, 2, 92 * 2 * 8 * 128, "model.layers.91.mlp.shared_experts.down_proj.weight"},
        Published{"mixtral-8x7b", 46702792704, 46.7, 12.9, 0, 32 * 2 * 8 * 128,
                  "model.layers.31.block_sparse_moe.experts.7.w2.weight"}),
    name_of);

}  // namespace
}  // namespace conclave
