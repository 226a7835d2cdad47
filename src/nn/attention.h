#pragma once
// Grouped-query attention over the paged cache, with the variations that published decoders have.
#include <memory>

#include "nn/block.h"
#include "nn/parameter.h"
#include "nn/rope.h"

namespace conclave {

// How queries and keys are normalised; before they are turned unless said otherwise.
enum class QkNorm : std::uint8_t {
  none,
  per_head,    // RMS over head_dim, one weight [head_dim] for all heads (Qwen3)
  full,        // RMS over all heads together, weight [heads * head_dim] (MiniMax-M2)
  after_rope,  // RMS over head_dim without a weight, once they are turned (Llama-4)
};

// Queries are multiplied by 1 + scale * ln(floor((position + 1) / floor_scale) + 1); scale 0: by 1 (Llama-4 on layers without
// rope).
struct QueryTemperature {
  float scale = 0.0f;
  float floor_scale = 8192.0f;
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
    Parameter sinks;  // [heads], as AttentionSpec has them
    QueryTemperature temperature;
  };
  // The linears and norms may be filled in after construction, before the first run: loaders bind first and build later.
  explicit Attention(Parts parts) : parts_(std::move(parts)) {}
  Parts& parts() { return parts_; }

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const override;
  void run(ConstTensorView x, const Step&, TensorView out) const noexcept override;

 private:
  void normalise(TensorView x, const Parameter& weight, const Forward&) const noexcept;
  void turn(TensorView q, TensorView k, const Step&) const noexcept;
  void apply_temperature(TensorView q, const Step&) const noexcept;
  Parts parts_;
};

}  // namespace conclave
