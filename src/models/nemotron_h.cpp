// Nemotron-H (Nemotron Nano 9B v2) and the hybrids with experts (Nemotron 3 Nano): every layer is one block, a Mamba-2 mixer,
// attention without positions, a squared-ReLU MLP, or such experts chosen by sigmoid plus a bias that only the choice sees. Keys:
// the published config.json ("hybrid_override_pattern") and transformers 5 ("layers_block_type").
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/in_quotes.h"
#include "io/json.h"
#include "models/blocks.h"
#include "models/causal_lm.h"
#include "nn/mamba2_mixer.h"

namespace conclave {
namespace {

enum class Kind : std::uint8_t { mamba, attention, mlp, experts };

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader) {
    read_layers(c, reader);
    if (has(Kind::mamba)) read_mixer(reader);
    if (has(Kind::mlp)) inter = reader.integer({"intermediate_size"}, 1, 1 << 24);
    if (has(Kind::experts)) read_experts(reader);
    for (const char* bias : {"use_bias", "attention_bias", "mlp_bias", "mamba_proj_bias"}) reader.only(bias, {false});
    reader.only("use_conv_bias", {true});
    reader.only("mlp_hidden_act", {"relu2"});
    reader.only("mamba_hidden_act", {"silu"});
    reader.only("sliding_window", {});
    reader.throw_problems();
  }
  std::vector<Kind> layers;
  Mamba2Mixer::Dims mixer;
  std::int64_t inter = 0, experts = 0, top_k = 0, expert_inter = 0, shared_inter = 0;
  moe::RoutingSpec routing;

 private:
  bool has(Kind kind) const { return std::find(layers.begin(), layers.end(), kind) != layers.end(); }

  void read_layers(const ModelConfig& c, ConfigReader& reader) {
    static constexpr std::pair<std::string_view, Kind> kNames[] = {{"M", Kind::mamba},
                                                                   {"mamba", Kind::mamba},
                                                                   {"linear_attention", Kind::mamba},
                                                                   {"*", Kind::attention},
                                                                   {"attention", Kind::attention},
                                                                   {"full_attention", Kind::attention},
                                                                   {"-", Kind::mlp},
                                                                   {"mlp", Kind::mlp},
                                                                   {"E", Kind::experts},
                                                                   {"moe", Kind::experts}};
    for (const std::string& name : layer_names(reader)) {
      const auto known = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& n) { return n.first == name; });
      if (known == std::end(kNames))
        return reader.problem(
            fmt::format("layer {} is {}, expected mamba (M), attention (*), mlp (-) or moe (E)", layers.size(), in_quotes(name)));
      layers.push_back(known->second);
    }
    if (layers.size() != static_cast<std::size_t>(c.layers))
      reader.contradiction(
          {"hybrid_override_pattern"},
          fmt::format("num_hidden_layers is {}, and layers_block_type / hybrid_override_pattern has {}", c.layers, layers.size()));
    if (!has(Kind::attention))
      reader.contradiction({"hybrid_override_pattern"},
                           "expected a layer of attention in layers_block_type / hybrid_override_pattern");
  }

  static std::vector<std::string> layer_names(ConfigReader& reader) {
    std::vector<std::string> names;
    const Json* list = reader.find({"layers_block_type"});
    if (list == nullptr) {
      for (char letter : reader.text({"hybrid_override_pattern"})) names.emplace_back(1, letter);
    } else {
      for (const Json& name : *list) names.push_back(name.is_string() ? name.get<std::string>() : name.dump());
    }
    return names;
  }

  void read_mixer(ConfigReader& reader) {
    const auto size = [&](const char* key, std::int64_t low, std::int64_t high, std::optional<std::int64_t> fallback = {}) {
      return static_cast<std::int32_t>(reader.integer({key}, low, high, fallback));
    };
    mixer.heads = size("mamba_num_heads", 1, 4096);
    mixer.head_dim = size("mamba_head_dim", 1, 4096);
    mixer.state_size = size("ssm_state_size", 1, 4096);
    mixer.groups = size("n_groups", 1, 4096);
    mixer.conv_width = size("conv_kernel", 2, 64, 4);
    if (mixer.heads % mixer.groups != 0)
      reader.contradiction({"mamba_num_heads", "n_groups"},
                           fmt::format("mamba_num_heads {} is not a multiple of n_groups {}", mixer.heads, mixer.groups));
    // Published as [0.0, Infinity]; transformers 5 writes infinity as an object of its own.
    const Json* limit = reader.find({"time_step_limit"});
    if (limit == nullptr) return;
    const bool whole = limit->is_array() && limit->size() == 2 && limit->front() == 0.0 &&
                       (limit->back() == Json{{"__float__", "Infinity"}} ||
                        (limit->back().is_number() && std::isinf(limit->back().get<double>())));
    if (!whole) reader.problem("time_step_limit: only [0.0, Infinity] is supported");
  }

  void read_experts(ConfigReader& reader) {
    experts = reader.integer({"n_routed_experts"}, 1, 4096);
    top_k = reader.integer({"num_experts_per_tok"}, 1, experts);
    expert_inter = reader.integer({"moe_intermediate_size"}, 1, 1 << 24);
    const std::int64_t shared = reader.integer({"n_shared_experts"}, 0, 64, 0);
    if (shared > 0) shared_inter = shared * reader.integer({"moe_shared_expert_intermediate_size"}, 1, 1 << 24);
    reader.only("moe_latent_size", {});
    routing.score = moe::Score::sigmoid;
    routing.selection_bias = true;
    routing.renorm = reader.boolean({"norm_topk_prob"}, true) ? moe::Renorm::sum : moe::Renorm::none;
    routing.scale = static_cast<float>(reader.number({"routed_scaling_factor"}, 0.0, 1e6, 1.0));
    routing.group_score = moe::GroupScore::sum_of_two_best;
    read_expert_groups(reader, experts, routing);
  }
};

std::unique_ptr<Block> mixer(const ModelConfig& c, const Keys& keys, Loader& loader, const std::string& at) {
  Mamba2Mixer::Dims d = keys.mixer;
  d.heads = static_cast<std::int32_t>(loader.share(d.heads, "Mamba heads"));
  if (d.groups > 1) d.groups = static_cast<std::int32_t>(loader.share(d.groups, "Mamba groups"));  // one is held by all
  Mamba2Mixer::Parts parts;
  parts.dims = d;
  parts.cache_layer = loader.recurrent_layer(recurrent_spec(d));
  parts.norm_eps = c.rms_eps;
  auto block = std::make_unique<Mamba2Mixer>(std::move(parts));
  Mamba2Mixer::Parts& p = block->parts();
  loader.linear(p.in, at + "in_proj", d.projected(), c.hidden);
  loader.parameter(p.conv_weight, at + "conv1d.weight", Shape{d.conv_channels(), 1, d.conv_width});
  loader.parameter(p.conv_bias, at + "conv1d.bias", d.conv_channels());
  loader.parameter(p.a_log, at + "A_log", d.heads);
  loader.parameter(p.dt_bias, at + "dt_bias", d.heads);
  loader.parameter(p.d, at + "D", d.heads);
  loader.parameter(p.norm, at + "norm.weight", d.inner());
  loader.linear(p.out, at + "out_proj", c.hidden, d.inner());
  return block;
}

std::unique_ptr<Mlp> squared_relu_mlp(Loader& loader, const std::string& at, std::int64_t hidden, std::int64_t width) {
  const std::int64_t inter = loader.share(width, kMlpWidth);
  auto block = std::make_unique<Mlp>(Elementwise::relu2);
  loader.linear(block->parts().up, at + "up_proj", inter, hidden);
  loader.linear(block->parts().down, at + "down_proj", hidden, inter);
  return block;
}

std::unique_ptr<Block> experts(const ModelConfig& c, const Keys& keys, Loader& loader, const std::string& at) {
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.expert_inter);
  problem.routing = keys.routing;
  problem.activation.kind = moe::Activation::relu2;
  problem.activation.gated = false;
  auto block = moe_block(loader, at, problem);
  loader.parameter(block->parts().selection_bias, at + "gate.e_score_correction_bias", keys.experts);
  if (keys.shared_inter > 0) block->parts().shared = squared_relu_mlp(loader, at + "shared_experts.", c.hidden, keys.shared_inter);
  return block;
}

std::unique_ptr<Block> layer_block(Kind kind, const ModelConfig& c, const Keys& keys, Loader& loader, const std::string& at) {
  switch (kind) {
    case Kind::mamba: return mixer(c, keys, loader, at);
    case Kind::attention: return attention_block(c, loader, at, {.rope = false});
    case Kind::mlp: return squared_relu_mlp(loader, at, c.hidden, keys.inter);
    case Kind::experts: break;
  }
  return experts(c, keys, loader, at);
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  const std::string root = checkpoint.info("model.norm_f.weight") ? "model." : "backbone.";
  return load_causal_lm(c, checkpoint, quant, context,
                        [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
                          for (std::int32_t layer = 0; layer < c.layers; ++layer) {
                            const std::string at = fmt::format("{}layers.{}.", root, layer);
                            const Kind kind = keys.layers[static_cast<std::size_t>(layer)];
                            add_block(loader, blocks, at + "norm.weight", c.hidden,
                                      layer_block(kind, c, keys, loader, at + "mixer."));
                          }
                          loader.ignore_prefix("mtp.", "multi-token prediction is not used");
                        },
                        {root + "embeddings", root + "norm_f.weight", "lm_head"});
}

}  // namespace

extern const Architecture nemotron_h_architecture;
constexpr std::string_view kNames[] = {"NemotronHForCausalLM"};
const Architecture nemotron_h_architecture{kNames, load};

}  // namespace conclave
