#pragma once
// What all causal language models of the hub share: embedding, blocks, last norm, head; names "model.*" and "lm_head".
#include <functional>
#include <string>
#include <vector>

#include "models/loader.h"
#include "models/model.h"
#include "nn/decoder.h"

namespace conclave {

// Names one block's norm, puts both at the end of the list and ends the loader's step. `blocks` must have room: slots may not move.
void add_block(Loader&, std::vector<Decoder::ResidualBlock>& blocks, const std::string& norm, std::int32_t hidden,
               std::unique_ptr<Block>);

// Where a publisher keeps what is not a layer.
struct CausalLmNames {
  std::string embedding = "model.embed_tokens";
  std::string final_norm = "model.norm.weight";
  std::string head = "lm_head";
};

// `add_blocks` names every layer; the rest is named here, everything is built, and the model is returned.
using AddBlocks = std::function<void(Loader&, std::vector<Decoder::ResidualBlock>& blocks)>;
std::unique_ptr<Model> load_causal_lm(const ModelConfig&, const Checkpoint&, const QuantConfig&, LoadContext&, const AddBlocks&,
                                      const CausalLmNames& = {});

}  // namespace conclave
