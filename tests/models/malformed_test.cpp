// Models that are broken in one place each: what is said must name it, and nothing may crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "checkpoint/dummy_checkpoint.h"
#include "conclave/error.h"
#include "io/json.h"
#include "tests/io/temporary_folder.h"
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
  // Takes a tensor out; what lies behind it moves up.
  void erase(const std::string& name) {
    change([&](Json& entries, std::string& data) {
      const std::size_t begin = entries.at(name)["data_offsets"][0], end = entries.at(name)["data_offsets"][1];
      entries.erase(name);
      data.erase(begin, end - begin);
      for (Json& entry : entries)
        for (Json& offset : entry["data_offsets"])
          if (offset.get<std::size_t>() > begin) offset = offset.get<std::size_t>() - (end - begin);
    });
  }
  // Publishes a tensor a second time.
  void copy(const std::string& name, const std::string& as) {
    const std::string bytes(tensor(name).begin(), tensor(name).end());
    change([&](Json& entries, std::string& data) {
      entries[as] = entries.at(name);
      entries[as]["data_offsets"] = {data.size(), data.size() + bytes.size()};
      data += bytes;
    });
  }
  std::map<std::string, std::string> files;

 private:
  void change(const std::function<void(Json& entries, std::string& data)>& by) {
    std::string& file = files["model.safetensors"];
    std::uint64_t header;
    std::memcpy(&header, file.data(), 8);
    Json entries = parse_json(std::string_view(file).substr(8, header), "header");
    entries.erase("__metadata__");
    std::string data = file.substr(8 + header);
    by(entries, data);
    std::string text = entries.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    header = text.size();
    file = std::string(reinterpret_cast<const char*>(&header), 8) + text + data;
  }
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

// B003: an expert that calibration never met has no input scales. No kernel here needs one, so it loads, and that is said.
TEST(Malformed, B003_MissingInputScalesAreAllowedForWeightOnlyKernelsAndTold) {
  const EditableModel whole(kNvfp4);
  EditableModel model = whole;
  for (const char* part : {"gate_proj", "up_proj", "down_proj"}) model.erase(kExpert + part + ".input_scale");
  const auto load = [](const EditableModel& files) { return load_fixture(std::make_shared<EditableModel>(files), Path::fast); };
  const LoadedModel loaded = load(model), calibrated = load(whole);
  EXPECT_EQ(loaded.run({5, 17, 42}, 0, DType::bf16).logits, calibrated.run({5, 17, 42}, 0, DType::bf16).logits);
  const auto told = [](const LoadedModel& m) {
    return std::ranges::count_if(m.model->report().notes, [](const std::string& note) {
      return note.find("3 of 72 expert matrices have no input scale, the first " + kExpert + "gate_proj") != std::string::npos;
    });
  };
  EXPECT_EQ(told(loaded), 1);
  EXPECT_EQ(told(calibrated), 0);
}

// What planning a published configuration with some keys changed says; "" when it can run.
std::string complaint_of_config(const std::string& name, const Json& change) {
  Json config = parse_json(MappedFile::open(tree_data() / "configs" / (name + ".json"))->text(), name);
  for (const auto& [key, value] : change.items())
    if (value.is_null())
      config.erase(key);
    else
      config[key] = value;
  const TemporaryFolder folder;
  folder.write("config.json", config.dump());
  const auto device = open_cpu_device(1);
  const auto ops = make_cpu_ops(device->caps());
  try {
    plan_model(*open_dummy_checkpoint(open_folder(folder.path()), DummyValues::none), {*device, *ops});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// B019: a width that is no multiple of a block is served (the conformance suite judges the numbers) or refused before weights are
// read, naming the matrix and its shape.
TEST(Malformed, B019_WidthsOffTheBlockAreServedOrRefusedByName) {
  EXPECT_EQ(complaint_of_config("gpt-oss-20b", {{"hidden_size", 2880}}), "");
  expect_mentions(complaint_of_config("gpt-oss-20b", {{"hidden_size", 2888}}),
                  {"'model.layers.0.mlp.experts.0.gate_proj' has 2888 inputs; mxfp4 needs a multiple of 32"});
}

// B038: an unknown scoring function, way of choosing or activation is refused by key and value; an absent one is the family's own.
TEST(Malformed, B038_UnknownScoringFunctionsAreRefused) {
  const struct {
    const char *model, *key;
    std::vector<std::string> unknown;
  } cases[] = {
      {"qwen3-30b-a3b", "scoring_func", {"sqrtsoftplus", "tanh", "sigmoid"}},
      {"minimax-m2", "scoring_func", {"sqrtsoftplus", "tanh", "softmax"}},
      {"deepseek-r1", "scoring_func", {"sqrtsoftplus", "tanh"}},
      {"deepseek-r1", "topk_method", {"foo"}},
      {"deepseek-r1", "hidden_act", {"gelu"}},
      {"mixtral-8x7b", "hidden_act", {"gelu"}},
      {"gpt-oss-20b", "hidden_act", {"relu"}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(complaint_of_config(c.model, {{c.key, nullptr}}), "") << c.model << " without " << c.key;
    for (const std::string& value : c.unknown)
      expect_mentions(complaint_of_config(c.model, {{c.key, value}}), {std::string(c.key) + ": \"" + value + "\""});
  }
}

TEST(Malformed, AnUnknownArchitectureIsRefusedWithWhatCanRun) {
  EditableModel model(kNvfp4);
  Json config = parse_json(model.files["config.json"], "config.json");
  config["architectures"] = {"Qwen3MoeForCausalML"};
  model.files["config.json"] = config.dump();
  expect_mentions(complaint(model), {"Qwen3MoeForCausalML", "did you mean 'Qwen3MoeForCausalLM'"});
}

TEST(Malformed, KeysThatWouldChangeTheNumbersAreRefused) {
  const struct {
    const char* model;
    Json change;
    const char* words;
  } cases[] = {
      {"qwen2.5-7b", {{"hidden_act", "gelu"}}, "hidden_act: \"gelu\""},
      {"qwen2.5-7b", {{"rope_scaling", {{"type", "mrope"}, {"mrope_section", {16, 24, 24}}}}}, "mrope"},
      {"qwen3-8b", {{"layer_types", std::vector<std::string>(36, "sliding_attention")}}, "layer_types has sliding_attention"},
      {"mistral-7b-v0.3", {{"layer_types", std::vector<std::string>(32, "full_attention")}}, "layer_types: windows by layer"},
      {"glm-4.5-air", {{"partial_rotary_factor", nullptr}}, "partial_rotary_factor is missing"},
      {"glm-4.5-air", {{"scoring_func", "softmax"}}, "scoring_func: \"softmax\""},
      {"glm-4.6", {{"n_group", 3}}, "160 is not a multiple of n_group 3"},
      {"qwen3-8b",
       {{"rope_parameters", {{"rope_type", "default"}}}, {"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}}},
       "rope_parameters and rope_scaling are both given"},
      {"qwen3-8b", {{"rope_parameters", {{"full_attention", {{"rope_theta", 1e6}}}}}}, "kind of layer (full_attention)"},
      {"qwen3-8b", {{"rope_scaling", {{"rope_type", "yarn"}}}}, "factor is missing"},
      {"qwen3-8b", {{"rope_scaling", {{"rope_type", "linear"}}}}, "factor is missing"},
      {"qwen3-8b", {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}}}, "low_freq_factor is missing"},
      {"qwen3-8b",
       {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 4.0}, {"high_freq_factor", 1.0}}}},
       "low_freq_factor 4 must not be above high_freq_factor 1"},
      {"qwen3-8b",
       {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 1.0}, {"beta_slow", 32.0}}}},
       "beta_fast 1 must not be below beta_slow 32"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(complaint_of_config(c.model, Json::object()), "");
    expect_mentions(complaint_of_config(c.model, c.change), {c.words});
  }
}

// A layer beyond num_hidden_layers is a prediction layer only where it has what such a layer has: a wrong count drops no layer.
TEST(Malformed, ALayerTooManyIsNotTakenForAPredictionLayer) {
  EditableModel model("glm4_moe-bf16");
  Json config = parse_json(model.files["config.json"], "config.json");
  config["num_nextn_predict_layers"] = 1;
  config["num_hidden_layers"] = config["num_hidden_layers"].get<int>() - 1;
  model.files["config.json"] = config.dump();
  expect_mentions(complaint(model), {"model.layers.2.input_layernorm.weight is in the checkpoint"});
}

// Some publish the head of tied embeddings as well. It must be their copy: transformers 4 would take the one, 5 the other.
TEST(Malformed, AHeadBesideTiedEmbeddingsMustBeTheirCopy) {
  EditableModel model("qwen2-bf16");
  model.copy("model.embed_tokens.weight", "lm_head.weight");
  EXPECT_EQ(complaint(model, false), "");
  model.tensor("lm_head.weight")[77] ^= 1;
  EXPECT_EQ(complaint(model), "");  // a plan reads no weights
  expect_mentions(complaint(model, false), {"lm_head.weight has other values", "tie_word_embeddings"});
  model = EditableModel("qwen2-bf16");
  model.copy("model.norm.weight", "lm_head.weight");
  expect_mentions(complaint(model), {"lm_head.weight is bf16 [", "meant to be a copy", "tie_word_embeddings"});
}

// B001: gate and up with different global scales keep their own, here from the file to the logits: one is changed tenfold, and the
// output must change. That it is exact, tests/moe/global_scales_test.cpp and fixture_test.cpp show.
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
