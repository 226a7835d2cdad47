#pragma once
// Multi-head latent attention (DeepSeek-V2, V3) in its absorbed form: the cache holds one latent vector and one rotary key per
// token, shared by all heads, and the up-projections of keys and values are applied to queries and outputs instead
// (arXiv:2405.04434).
#include <memory>
#include <vector>

#include "nn/block.h"
#include "nn/parameter.h"
#include "nn/rope.h"
#include "quant/matrix.h"

namespace conclave {

class LatentAttention final : public Block {
 public:
  struct Dims {
    std::int32_t heads = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;  // per head: key without and with positions, value
    std::int32_t latent = 0;                                            // width of the shared latent vector
  };
  struct Parts {
    Dims dims;
    std::int32_t cache_layer = 0;
    float scale = 0.0f;  // multiplies scores
    float norm_eps = 1e-6f;
    RopeFrequencies rope;
    bool rope_interleaved = true;
    std::unique_ptr<Linear> q_a, q;                     // q_a: [q_rank, H] or null; q: [heads * (nope + rope), q_rank or H]
    Parameter q_norm;                                   // [q_rank]
    std::unique_ptr<Linear> kv_a;                       // [latent + rope, H]
    Parameter kv_norm;                                  // [latent]
    std::vector<std::unique_ptr<Linear>> absorb_key;    // per head [latent, nope]: the transposed up-projection of keys
    std::vector<std::unique_ptr<Linear>> expand_value;  // per head [value_dim, latent]
    std::unique_ptr<Linear> o;                          // [H, heads * value_dim]
  };
  explicit LatentAttention(Parts parts) : parts_(std::move(parts)) {}
  Parts& parts() { return parts_; }

  // Takes kv_b [heads * (nope + value), latent], rows grouped by head, apart into absorb_key and expand_value.
  void set_up_projection(const QuantMatrix& kv_b, const Ops&);

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const override;
  void run(ConstTensorView x, const Step&, TensorView out) const noexcept override;

 private:
  std::int32_t cached() const { return parts_.dims.latent + parts_.dims.rope_dim; }
  AttentionSpec spec() const;
  TensorView queries(ConstTensorView x, const Step&) const noexcept;
  TensorView keys(ConstTensorView x, const Step&) const noexcept;
  void turn(TensorView heads, std::int64_t first, const Step&) const noexcept;
  Parts parts_;
  std::vector<std::vector<float>> up_projections_;  // under absorb_key and expand_value, which may look at them in place
};

}  // namespace conclave
