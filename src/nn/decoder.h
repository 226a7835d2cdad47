#pragma once
// The decoder that all our architectures are: embedding, residual blocks with a norm before each, a last norm, the head.
#include <memory>
#include <vector>

#include "nn/block.h"
#include "nn/parameter.h"
#include "quant/matrix.h"

namespace conclave {

class Decoder {
 public:
  struct ResidualBlock {
    Parameter norm;  // [H]
    std::unique_ptr<Block> block;
  };
  struct Parts {
    float norm_eps = 1e-6f;
    QuantMatrix embedding;  // [V, H]; looks at the checkpoint's memory
    std::vector<ResidualBlock> blocks;
    Parameter final_norm;          // [H]
    std::unique_ptr<Linear> head;  // [V, H]
  };
  Parts& parts() { return parts_; }

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t logits_rows, std::int64_t max_context) const;
  // Batch's rows through all blocks; logits [batch.logits_rows.size(), V] f32.
  void forward(const Batch&, KvCache&, const Forward&, TensorView logits) const noexcept;

 private:
  Parts parts_;
};

}  // namespace conclave
