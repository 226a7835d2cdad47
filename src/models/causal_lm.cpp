#include "models/causal_lm.h"

namespace conclave {
namespace {

class CausalLm final : public Model {
 public:
  CausalLm(const ModelConfig& config, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context,
           const AddBlocks& add, const CausalLmNames& names)
      : config_(config), ops_(context.ops) {
    Loader loader(config_, checkpoint, quant, context);
    Decoder::Parts& parts = decoder_.parts();
    parts.norm_eps = config_.rms_eps;
    parts.blocks.reserve(static_cast<std::size_t>(2 * config_.layers));  // slots must not move
    loader.embedding(parts.embedding, names.embedding, loader.share_of_vocabulary(config_.vocab), config_.hidden);
    loader.end_step();
    add(loader, parts.blocks);
    loader.parameter(parts.final_norm, names.final_norm, config_.hidden);
    if (config_.tied_embeddings) {
      loader.linear_of(parts.head, parts.embedding, {}, "lm_head (tied to the embedding)");
      loader.expect_copy(
          std::string(names.head) + ".weight", parts.embedding,
          "tie_word_embeddings of config.json makes the embedding the head; if the head is one of its own, set it to false");
    } else {
      loader.linear(parts.head, names.head, loader.share_of_vocabulary(config_.vocab), config_.hidden);
    }
    loader.ignore_suffix(".rotary_emb.inv_freq", "computed from config.json");
    report_ = loader.build();
    kv_ = loader.kv_spec();
  }

  const ModelConfig& config() const noexcept override { return config_; }
  const ModelReport& report() const noexcept override { return report_; }
  KvSpec kv_spec() const override { return kv_; }
  std::size_t workspace_bytes(std::int64_t tokens, std::int64_t logits_rows, std::int64_t max_context) const override {
    return decoder_.workspace_bytes(ops_, tokens, logits_rows, max_context);
  }
  void forward(const Batch& batch, KvCache& cache, const Forward& forward, TensorView logits) const noexcept override {
    decoder_.forward(batch, cache, forward, logits);
  }

 private:
  ModelConfig config_;
  const Ops& ops_;
  Decoder decoder_;
  ModelReport report_;
  KvSpec kv_;
};

}  // namespace

void add_block(Loader& loader, std::vector<Decoder::ResidualBlock>& blocks, const std::string& norm, std::int32_t hidden,
               std::unique_ptr<Block> block) {
  CONCLAVE_CHECK(blocks.size() < blocks.capacity());
  blocks.push_back({{}, std::move(block)});
  loader.parameter(blocks.back().norm, norm, hidden);
  loader.end_step();
}

std::unique_ptr<Model> load_causal_lm(const ModelConfig& config, const Checkpoint& checkpoint, const QuantConfig& quant,
                                      LoadContext& context, const AddBlocks& add, const CausalLmNames& names) {
  return std::make_unique<CausalLm>(config, checkpoint, quant, context, add, names);
}

}  // namespace conclave
