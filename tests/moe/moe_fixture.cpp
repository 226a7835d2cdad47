#include "tests/moe/moe_fixture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <stdexcept>

#include "io/json.h"
#include "quant/codec.h"
#include "tests/moe/routing_methods.h"

namespace conclave::moe {
namespace {

struct Names {
  std::string block, gate, up, down;  // where the experts lie, and their matrices
};
const std::map<std::string, Names> kNames = {
    {"qwen3_moe", {"mlp", "gate_proj", "up_proj", "down_proj"}},
    {"qwen2_moe", {"mlp", "gate_proj", "up_proj", "down_proj"}},
    {"deepseek_v3", {"mlp", "gate_proj", "up_proj", "down_proj"}},
    {"mixtral", {"block_sparse_moe", "w1", "w3", "w2"}},
    {"minimax_m2", {"block_sparse_moe", "w1", "w3", "w2"}},
    {"llama4_text", {"feed_forward", "", "", ""}},  // stacked
    {"gpt_oss", {"mlp", "", "", ""}},               // stacked
};

RoutingSpec routing_of(const std::string& type, const Json& config) {
  if (type == "deepseek_v3") {
    return grouped(biased(routing(Score::sigmoid, Renorm::sum), config["routed_scaling_factor"]), config["n_group"],
                   config["topk_group"], GroupScore::sum_of_two_best);
  }
  if (type == "minimax_m2") return biased(routing(Score::sigmoid, Renorm::sum));
  if (type == "llama4_text") return llama4_routing();
  if (type == "gpt_oss") return routing(Score::softmax, Renorm::softmax_topk);
  return routing(Score::softmax, type == "mixtral" || config.value("norm_topk_prob", false) ? Renorm::sum : Renorm::none);
}

class Loader {
 public:
  explicit Loader(const std::filesystem::path& folder) : folder_(folder), config_(read("config.json")) {
    fixture_.checkpoint = Checkpoint::open(open_folder(folder));
    fixture_.expected = std::make_unique<SafetensorsFile>(MappedFile::open(folder / "moe_bf16.safetensors"));
    text_ = config_.contains("text_config") ? config_["text_config"] : config_;
    type_ = text_["model_type"];
    const std::string root = fixture_.checkpoint->info("language_model.model.norm.weight") ? "language_model." : "";
    block_ = fmt::format("{}model.layers.{}.{}", root, read("meta.json")["moe_layer"].get<int>(), kNames.at(type_).block);
  }

  MoeFixture load() {
    set_problem();
    const bool stacked = kNames.at(type_).gate.empty();
    for (std::int64_t e = 0; e < fixture_.problem.experts; ++e) {
      if (!stacked)
        bind_expert(e);
      else if (type_ == "gpt_oss")
        view_gpt_oss(e);
      else
        view_llama4(e);
    }
    if (!problems_.empty()) throw std::runtime_error(fmt::format("{}", fmt::join(problems_, "\n")));
    for (const char* name : {".gate.e_score_correction_bias", ".e_score_correction_bias"})
      if (const auto bias = fixture_.checkpoint->find(block_ + name)) fixture_.bias = *bias;
    return std::move(fixture_);
  }

 private:
  Json read(const char* file) const {
    JsonLimits limits;
    limits.allow_non_finite = true;
    return parse_json(MappedFile::open(folder_ / file)->text(), file, limits);
  }
  bool has(const std::string& name) const { return fixture_.checkpoint->info(name).has_value(); }
  ConstTensorView tensor(const std::string& name) const {
    const auto found = fixture_.checkpoint->find(name);
    if (!found) throw std::runtime_error("no tensor " + name);
    return *found;
  }

  void set_problem() {
    MoeProblem& p = fixture_.problem;
    for (const char* key : {"n_routed_experts", "num_local_experts", "num_experts"})
      if (text_.contains(key)) p.experts = text_[key];
    p.local_count = p.experts;
    p.top_k = text_["num_experts_per_tok"];
    p.hidden = text_["hidden_size"];
    p.inter = text_.value("moe_intermediate_size", text_["intermediate_size"].get<int>());
    p.max_tokens = 512;
    p.routing = routing_of(type_, text_);
    if (type_ == "gpt_oss") {
      p.activation = {Activation::swiglu_oai, true, 1.702f, 1.0f, 7.0f};
      p.expert_bias = true;
    }
    const std::string first = fmt::format("{}.experts.0.{}", block_, kNames.at(type_).up), stack = block_ + ".experts.gate_up_proj";
    if (has(first + ".weight_packed")) {
      const Json group = config_["quantization_config"]["config_groups"]["group_0"]["weights"];
      p.weights = kInt4Group128;
      p.weights.scale_cols = group["group_size"];
      p.weights.zero_point = !group["symmetric"].get<bool>();
    } else if (has(first + ".weight_scale_2") || has(stack + "_weight_scale_2")) {
      p.weights = kNvfp4;
      fixture_.activations = kNvfp4Activation;
    } else if (has(first + ".weight_scale_inv")) {
      p.weights = kFp8Block128;
      fixture_.activations = kFp8Token128;
    } else if (has(stack + "_blocks")) {
      p.weights = kMxfp4;
    }
  }

  void bind_expert(std::int64_t e) {
    const MoeProblem& p = fixture_.problem;
    const Names& names = kNames.at(type_);
    const Codec& codec = codec_for(p.weights);
    const auto bind = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
      return codec.bind(*fixture_.checkpoint, fmt::format("{}.experts.{}.{}", block_, e, name), p.weights, rows, cols, problems_);
    };
    Expert expert;
    expert.gate = bind(names.gate, p.inter, p.hidden);
    expert.up = bind(names.up, p.inter, p.hidden);
    expert.down = bind(names.down, p.hidden, p.inter);
    fixture_.weights.experts.push_back(expert);
  }

  // A matrix of expert e inside of a stacked tensor: element (r, c) lies at first + r * row_step + c * col_step.
  static ConstTensorView slice(ConstTensorView all, std::int64_t e, std::int64_t first, Shape shape, std::int64_t row_step,
                               std::int64_t col_step) {
    ConstTensorView out = all;
    out.data += (e * all.stride[0] + first) * size_of(all.dtype);
    out.shape = shape;
    out.stride = {row_step, col_step};
    return out;
  }
  static ConstTensorView bias_of(ConstTensorView all, std::int64_t e, std::int64_t first, std::int64_t count, std::int64_t step) {
    return slice(all, e, first, {count}, step, 0);
  }
  QuantMatrix matrix(std::int64_t rows, std::int64_t cols, ConstTensorView codes) const {
    QuantMatrix m;
    m.scheme = fixture_.problem.weights;
    m.rows = rows;
    m.cols = cols;
    m.codes = codes;
    return m;
  }

  // Transposed stacks: gate_up_proj [E, H, 2I], gate columns first; down_proj [E, I, H]. NVFP4 packs two inputs per byte there.
  void view_llama4(std::int64_t e) {
    const MoeProblem& p = fixture_.problem;
    const std::int64_t h = p.hidden, n = p.inter;
    const auto part = [&](const std::string& name, std::int64_t first, std::int64_t rows, std::int64_t cols, std::int64_t step) {
      const std::string at = block_ + ".experts." + name;
      const bool packed = p.weights == kNvfp4;
      QuantMatrix m = matrix(rows, cols, slice(tensor(at), e, first, {rows, packed ? cols / 2 : cols}, 1, step));
      if (packed) {
        m.scales = slice(tensor(at + "_weight_scale"), e, first, {rows, cols / 16}, 1, step);
        m.global = *tensor(at + "_weight_scale_2").as<float>();
        m.input_scale = *tensor(at + "_input_scale").as<float>();
      }
      return m;
    };
    Expert expert;
    expert.gate = part("gate_up_proj", 0, n, h, 2 * n);
    expert.up = part("gate_up_proj", n, n, h, 2 * n);
    expert.down = part("down_proj", 0, h, n, h);
    fixture_.weights.experts.push_back(expert);
  }

  // bf16: transposed as Llama 4's. MXFP4: blocks [E, rows, cols / 32, 16], scales [E, rows, cols / 32]. Gate and up alternate.
  void view_gpt_oss(std::int64_t e) {
    const MoeProblem& p = fixture_.problem;
    const std::int64_t h = p.hidden, n = p.inter;
    const auto part = [&](const std::string& name, std::int64_t first, std::int64_t every, std::int64_t rows, std::int64_t cols) {
      const std::string at = block_ + ".experts." + name;
      if (p.weights == kBf16) return matrix(rows, cols, slice(tensor(at), e, first, {rows, cols}, every, rows * every));
      QuantMatrix m = matrix(rows, cols, slice(tensor(at + "_blocks"), e, first * cols / 2, {rows, cols / 2}, every * cols / 2, 1));
      m.scales = slice(tensor(at + "_scales"), e, first * cols / 32, {rows, cols / 32}, every * cols / 32, 1);
      m.scales.dtype = DType::f8e8m0;
      return m;
    };
    const ConstTensorView inner = tensor(block_ + ".experts.gate_up_proj_bias"), outer = tensor(block_ + ".experts.down_proj_bias");
    Expert expert;
    expert.gate = part("gate_up_proj", 0, 2, n, h);
    expert.up = part("gate_up_proj", 1, 2, n, h);
    expert.down = part("down_proj", 0, 1, h, n);
    expert.gate_bias = bias_of(inner, e, 0, n, 2);
    expert.up_bias = bias_of(inner, e, 1, n, 2);
    expert.down_bias = bias_of(outer, e, 0, h, 1);
    fixture_.weights.experts.push_back(expert);
  }

  std::filesystem::path folder_;
  Json config_, text_;
  std::string type_, block_;
  MoeFixture fixture_;
  std::vector<std::string> problems_;
};

}  // namespace

ConstTensorView MoeFixture::reference(const std::string& name) const {
  const auto found = expected->find(name);
  if (!found) throw std::runtime_error("no reference " + name);
  return *found;
}

MoeFixture load_moe_fixture(const std::filesystem::path& folder) { return Loader(folder).load(); }

}  // namespace conclave::moe
