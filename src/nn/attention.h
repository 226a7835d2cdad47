#pragma once
// Grouped-query attention over the paged cache, with the variations that published decoders have.
#include <memory>

#include "nn/block.h"
#include "nn/parameter.h"
#include "nn/rope.h"

namespace conclave {

// Where queries and keys are normalised, always before they are turned.
enum class QkNorm : std::uint8_t {
  none,
  per_head,  // RMS over head_dim, one weight [head_dim] for all heads (Qwen3)
  full,      // RMS over all heads together, weight [heads * head_dim] (MiniMax-M2)
};

class Attention final : public Block {
 public:
  struct Parts {
    AttentionSpec spec;
    std::int32_t cache_layer = 0;  // which layer of the KV cache is ours
    QkNorm qk_norm = QkNorm::none;
    float norm_eps = 1e-6f;
    RopeFrequencies rope;  // no frequencies: positions are not encoded
    bool rope_interleaved = false;
    std::unique_ptr<Linear> q, k, v, o;  // q: [heads * head_dim, H], k, v: [kv_heads * head_dim, H], o: [H, heads * head_dim]
    Parameter q_norm, k_norm;
  };
  // The linears and norms may be filled in after construction, before the first run: loaders bind first and build later.
  explicit Attention(Parts parts) : parts_(std::move(parts)) {}
  Parts& parts() { return parts_; }

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const override;
  void run(ConstTensorView x, const Step&, TensorView out) const noexcept override;

 private:
  void normalise(TensorView x, const Parameter& weight, const Forward&) const noexcept;
  Parts parts_;
};

}  // namespace conclave
