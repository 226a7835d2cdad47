// Models that are broken in one place each: what is said must name it, and nothing may crash.
#include <gtest/gtest.h>

#include <map>

#include "checkpoint/safetensors_writer.h"
#include "conclave/error.h"
#include "io/json.h"
#include "tests/models/fixture.h"
#include "tests/sanitized.h"

namespace conclave {
namespace {

// The NVFP4 fixture held in memory, so that files and tensors can be changed one at a time.
class EditableModel final : public FileSet {
 public:
  explicit EditableModel(const std::string& fixture) {
    const auto folder = open_folder(tree_data() / "fixtures" / fixture);
    for (const std::string& name : folder->names())
      if (name.ends_with(".json") || name.ends_with(".safetensors")) files[name] = folder->find(name)->text();
  }
  std::shared_ptr<const MappedFile> find(std::string_view name) const override {
    const auto it = files.find(std::string(name));
    if (it == files.end()) return nullptr;
    return MappedFile::from_memory(std::as_bytes(std::span(it->second)), it->first);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, bytes] : files) out.push_back(name);
    return out;
  }
  std::string location() const override { return "edited"; }

  // The bytes of one tensor in model.safetensors.
  std::span<char> tensor(const std::string& name) {
    std::string& file = files["model.safetensors"];
    const std::uint64_t header = [&] {
      std::uint64_t n;
      std::memcpy(&n, file.data(), 8);
      return n;
    }();
    const Json entries = parse_json(std::string_view(file).substr(8, header), "header");
    const auto& offsets = entries.at(name).at("data_offsets");
    return std::span(file).subspan(8 + header + offsets[0].get<std::size_t>(),
                                   offsets[1].get<std::size_t>() - offsets[0].get<std::size_t>());
  }
  // Renames a tensor in the header without moving anything: both names must be equally long.
  void rename(const std::string& from, const std::string& to) {
    std::string& file = files["model.safetensors"];
    const std::size_t at = file.find('"' + from + '"');
    ASSERT_NE(at, std::string::npos);
    file.replace(at + 1, from.size(), to);
  }
  std::map<std::string, std::string> files;
};

// What loading says; "" when it loads.
std::string complaint(const EditableModel& model, bool plan_only = true) {
  try {
    const auto checkpoint = Checkpoint::open(std::make_shared<EditableModel>(model));
    const auto device = open_cpu_device(1);
    const auto ops = make_cpu_ops(device->caps());
    LoadContext context{*device, *ops};
    if (plan_only)
      plan_model(*checkpoint, context);
    else
      load_model(*checkpoint, context);
  } catch (const Error& e) {
    EXPECT_STRNE(e.what(), "");
    return e.what();
  }
  return "";
}

void expect_mentions(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

constexpr const char* kNvfp4 = "qwen3_moe-nvfp4-kvfp8";
const std::string kExpert = "model.layers.1.mlp.experts.5.";

TEST(Malformed, TheUnchangedModelLoads) { EXPECT_EQ(complaint(EditableModel(kNvfp4)), ""); }

TEST(Malformed, EveryByteOfTheConfigFlippedOrCut) {
  const EditableModel original(kNvfp4);
  const std::string config = original.files.at("config.json");
  EditableModel model = original;
  int refused = 0;
  const std::size_t step = kSanitized ? 5 : 1;
  for (std::size_t i = 0; i < config.size(); i += step) {
    std::string& text = model.files["config.json"];
    text = config;
    text[i] = static_cast<char>(text[i] ^ (1 << (i % 8)));
    refused += !complaint(model).empty();
    if (i % 16 != 0) continue;
    text = config.substr(0, i);
    EXPECT_NE(complaint(model), "") << "cut at " << i;
  }
  EXPECT_GT(refused, 100 / static_cast<int>(step));
}

// B027: all problems of names and shapes at once, without reading weights.
TEST(Malformed, B027_MissingUnknownAndMisshapedAreToldTogether) {
  EditableModel model(kNvfp4);
  model.rename(kExpert + "up_proj.weight", kExpert + "up_proj.weighs");
  model.rename("model.layers.0.input_layernorm.weight", "model.layers.0.input_layernorm.weighs");
  model.rename("model.norm.weight", "model.norm.weighs");
  Json config = parse_json(model.files["config.json"], "config.json");
  config["intermediate_size"] = 999;  // not used by this model: no problem
  config["num_attention_heads"] = 6;  // q_proj and o_proj of every layer are of another shape now
  model.files["config.json"] = config.dump();
  expect_mentions(complaint(model), {kExpert + "up_proj.weight", kExpert + "up_proj.weighs", "input_layernorm.weight",
                                     "model.norm.weight", "q_proj", "o_proj", "problems"});
}

// B005: scales that are not finite and positive are refused by name. Block scales are bytes of E4M3.
TEST(Malformed, B005_BadScalesAreNamed) {
  const float bad[] = {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 0.0f, -1.0f, 1e-45f};
  for (const char* scale : {"up_proj.weight_scale_2", "down_proj.input_scale", "gate_proj.weight_scale_2"})
    for (float value : bad) {
      EditableModel model(kNvfp4);
      std::memcpy(model.tensor(kExpert + scale).data(), &value, sizeof(value));
      expect_mentions(complaint(model), {kExpert + scale});
    }
  EditableModel model(kNvfp4);
  model.tensor(kExpert + "up_proj.weight_scale")[3] = 0x7f;  // NaN
  expect_mentions(complaint(model), {kExpert + "up_proj.weight_scale"});
}

TEST(Malformed, B005_ALoadTellsBadScalesOfAllLayersTogetherInTheOrderOfTheModel) {
  EditableModel model(kNvfp4);
  const std::string tensors[] = {"model.layers.0.mlp.experts.7.up_proj.weight_scale",
                                 "model.layers.1.self_attn.o_proj.weight_scale",
                                 "model.layers.2.mlp.experts.0.down_proj.weight_scale"};
  for (const std::string& tensor : tensors) model.tensor(tensor)[0] = model.tensor(tensor)[5] = 0x7f;  // NaN
  const std::string text = complaint(model, false);
  EXPECT_EQ(text, complaint(model));
  expect_mentions(text, {"3 problems", "2 of its"});
  std::size_t after = 0;
  for (const std::string& tensor : tensors) {
    after = text.find("'" + tensor + "' holds bad scales", after);
    ASSERT_NE(after, std::string::npos) << tensor << " in: " << text;
  }
  // With a problem of names too.
  model.rename(kExpert + "up_proj.weight", kExpert + "up_proj.weighs");
  expect_mentions(complaint(model, false), {tensors[0], tensors[1], tensors[2], kExpert + "up_proj.weighs", "5 problems"});
}

TEST(Malformed, BadCacheScalesAreNamed) {
  EditableModel model(kNvfp4);
  const float value = -2.0f;
  std::memcpy(model.tensor("model.layers.1.self_attn.k_proj.k_scale").data(), &value, sizeof(value));
  expect_mentions(complaint(model), {"model.layers.1.self_attn.k_proj.k_scale"});
}

// B074: a calibrated scale that no layer would take is refused, not dropped.
TEST(Malformed, B074_CacheScalesWithoutALayerAreRefused) {
  EditableModel model(kNvfp4);
  const std::string moved = "model.layers.1.mlp_attn_.k_proj.k_scale";
  model.rename("model.layers.1.self_attn.k_proj.k_scale", moved);
  expect_mentions(complaint(model), {moved + " is a scale of a KV cache"});
}

// B074: the published scales are what an FP8 cache uses; without them the numbers are others.
TEST(Malformed, B074_CacheScalesChangeWhatAnFp8CacheHolds) {
  const auto logits = [](float scale) {
    EditableModel model(kNvfp4);
    for (const char* layer : {"0", "1", "2"})
      for (const char* name : {".self_attn.k_proj.k_scale", ".self_attn.v_proj.v_scale"})
        std::memcpy(model.tensor("model.layers." + std::string(layer) + name).data(), &scale, sizeof(scale));
    return load_fixture(std::make_shared<EditableModel>(model), Path::fast).run({5, 17, 42, 8}, 1, DType::f8e4m3).logits;
  };
  const std::vector<float> calibrated = logits(0.05f), absent = logits(1.0f);
  EXPECT_EQ(calibrated, logits(0.05f));
  EXPECT_NE(calibrated, absent);
}

// B003: an expert without input scales loads where the kernel keeps its activations as they are.
TEST(Malformed, B003_MissingInputScalesAreAllowedForWeightOnlyKernels) {
  EditableModel model(kNvfp4);
  Json header;
  for (const char* part : {"gate_proj", "up_proj", "down_proj"})
    model.rename(kExpert + part + ".input_scale", kExpert + part + ".input_scalf");
  // Only the renamed tensors are complained of, as unknown ones: none of the missing ones was needed.
  const std::string words = complaint(model);
  expect_mentions(words, {"3 problems", kExpert + "up_proj.input_scalf"});
}

// B038: an unknown scoring function is refused by key and value.
TEST(Malformed, B038_UnknownScoringFunctionsAreRefused) {
  for (const char* value : {"sqrtsoftplus", "tanh", "sigmoid"}) {
    EditableModel model(kNvfp4);
    Json config = parse_json(model.files["config.json"], "config.json");
    config["scoring_func"] = value;
    model.files["config.json"] = config.dump();
    expect_mentions(complaint(model), {"scoring_func", value});
  }
}

TEST(Malformed, AnUnknownArchitectureIsRefusedWithWhatCanRun) {
  EditableModel model(kNvfp4);
  Json config = parse_json(model.files["config.json"], "config.json");
  config["architectures"] = {"Qwen3MoeForCausalML"};
  model.files["config.json"] = config.dump();
  expect_mentions(complaint(model), {"Qwen3MoeForCausalML", "did you mean 'Qwen3MoeForCausalLM'"});
}

// B001: gate and up with different global scales keep their own. The fixture's differ; the reference path proves them exact
// (fixture_test.cpp), here one is changed tenfold and the output must change.
TEST(Malformed, B001_EachHalfKeepsItsOwnGlobalScale) {
  const std::vector<std::int32_t> ids{5, 17, 42, 99};
  const auto logits = [&](const EditableModel& model) {
    return load_fixture(std::make_shared<EditableModel>(model), Path::fast).run(ids, 0, DType::bf16).logits;
  };
  EditableModel model(kNvfp4);
  const auto before = logits(model);
  for (int e = 0; e < 8; ++e) {
    const auto bytes = model.tensor("model.layers.1.mlp.experts." + std::to_string(e) + ".up_proj.weight_scale_2");
    float scale = 0;
    std::memcpy(&scale, bytes.data(), sizeof(scale));
    scale *= 10;
    std::memcpy(bytes.data(), &scale, sizeof(scale));
  }
  EXPECT_GT(compare(logits(model), before, 512).rms_rel, 0.05);
}

}  // namespace
}  // namespace conclave
