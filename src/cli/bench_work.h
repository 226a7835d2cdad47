#pragma once
// How much a step of a model has to do, from what its configuration says: the bytes of weights that it reads and the products that
// it computes. This is what times are divided by.
#include <cstdint>
#include <memory>

#include "io/file_set.h"
#include "models/model.h"

namespace conclave::cli {

struct ModelWork {
  double dense_bytes = 0.0;   // that every step reads: all but routed experts and a separate embedding
  double expert_bytes = 0.0;  // of all routed experts
  double experts = 1.0, top_k = 1.0;
  double token_operations = 0.0;  // of the linears that every token meets; two for each product and its sum
  double head_operations = 0.0;   // of the head, which only rows that give logits meet

  // Published bytes of the weights that a step of so many tokens touches, when each chooses its experts evenly and by itself:
  // E * (1 - (1 - K/E)^tokens) of E experts.
  double step_bytes(double tokens) const;
  // Of a prompt whose last token gives logits; products of queries with keys and values are not counted.
  double prompt_operations(double tokens) const { return tokens * token_operations + head_operations; }
};

ModelWork work_of(const ModelConfig&, const ModelReport&);
// Reads config.json and no weights. Throws Error.
ModelWork work_of(std::shared_ptr<const FileSet>);

}  // namespace conclave::cli
