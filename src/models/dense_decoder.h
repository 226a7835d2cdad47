#pragma once
// Decoders without experts: each layer an attention and a gated MLP, under the names that Llama gave them.
#include <cstdint>
#include <functional>
#include <memory>

#include "models/blocks.h"
#include "models/causal_lm.h"

namespace conclave {

// The attention of each layer as the architecture states it. What it has read by then must be without problems.
using AttentionOfLayer = std::function<AttentionOptions(std::int32_t layer)>;

// Reads the MLP's keys (intermediate_size, hidden_act, mlp_bias), throws all problems of `reader`, and loads.
std::unique_ptr<Model> load_dense_decoder(ConfigReader& reader, const ModelConfig&, const Checkpoint&, const QuantConfig&,
                                          LoadContext&, const AttentionOfLayer&);

}  // namespace conclave
