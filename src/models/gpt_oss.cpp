// gpt-oss (20b, 120b): attention with biases, sinks and a sliding window on every other layer; experts in MXFP4 with biases,
// stacked with gate and up interleaved, and the clamped swiglu of OpenAI. Keys: transformers' GptOssConfig.
#include "models/blocks.h"
#include "models/causal_lm.h"
#include "quant/stacked_experts.h"

namespace conclave {
namespace {

struct Keys {
  explicit Keys(const ModelConfig& c) : Keys(c, ConfigReader(*c.json)) {}
  Keys(const ModelConfig& c, ConfigReader reader)
      : experts(reader.integer({"num_local_experts"}, 1, 4096)),
        top_k(reader.integer({"num_experts_per_tok", "experts_per_token"}, 1, experts, 4)),
        inter(reader.integer({"intermediate_size"}, 1, 1 << 24)),
        window(static_cast<std::int32_t>(reader.integer({"sliding_window"}, 1, 1 << 30, 128))),
        limit(static_cast<float>(reader.number({"swiglu_limit"}, 0.0, 1e6, 7.0))),
        bias(reader.boolean({"attention_bias"}, true) ? Bias::required : Bias::none) {
    reader.only("hidden_act", {"silu"});
    for (std::int32_t layer = 0; layer < c.layers; ++layer) sliding.push_back(layer % 2 == 0);  // without a list
    read_layer_types(reader, sliding);
    reader.throw_problems();
  }
  std::int64_t experts, top_k, inter;
  std::int32_t window;
  float limit;
  Bias bias;
  std::vector<bool> sliding;  // per layer

  AttentionOptions attention(std::int32_t layer) const {
    return {.qkv_bias = bias, .o_bias = bias, .window = sliding[static_cast<std::size_t>(layer)] ? window : 0, .sinks = true};
  }
};

std::unique_ptr<Block> experts(const ModelConfig& c, const Keys& keys, const QuantConfig& quant, Loader& loader,
                               const std::string& at) {
  moe::MoeProblem problem = expert_problem(keys.experts, keys.top_k, c.hidden, keys.inter);
  problem.routing.renorm = moe::Renorm::softmax_topk;
  problem.activation.kind = moe::Activation::swiglu_oai;
  problem.activation.limit = keys.limit;
  problem.expert_bias = true;
  // The blocks of MXFP4 are [E, out, in], plain weights [E, in, out].
  const bool blocks = quant.scheme_of(at + "experts.0.gate_proj").weights == kMxfp4;
  return moe_block(loader, at, problem, {.router = "router", .router_bias = Bias::required},
                   StackedExperts(loader.source(), {.experts = keys.experts, .interleaved = true, .transposed = !blocks}));
}

std::unique_ptr<Model> load(const ModelConfig& c, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context) {
  const Keys keys(c);
  return load_causal_lm(c, checkpoint, quant, context, [&](Loader& loader, std::vector<Decoder::ResidualBlock>& blocks) {
    add_layers(
        c, loader, blocks, "model.",
        [&](std::int32_t layer, const std::string& at) {
          return attention_block(c, loader, at + "self_attn.", keys.attention(layer));
        },
        [&](std::int32_t, const std::string& at) { return experts(c, keys, quant, loader, at + "mlp."); });
  });
}

}  // namespace

extern const Architecture gpt_oss_architecture;
constexpr std::string_view kNames[] = {"GptOssForCausalLM"};
const Architecture gpt_oss_architecture{kNames, load};

}  // namespace conclave
