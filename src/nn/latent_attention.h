#pragma once
// Multi-head latent attention (DeepSeek-V2, V3; arXiv:2405.04434): the cache holds one latent vector and one rotary key per token,
// shared by all heads. Two forms compute the same of it:
//   absorbed  the up-projections of keys and values are applied to queries and outputs, and the heads look at the latents;
//   expanded  they are applied to the latents of the context, head by head, and each head attends to its own keys and values.
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
    std::int32_t absorbed_key() const { return latent + rope_dim; }     // what the cache holds of a token
    std::int32_t expanded_key() const { return nope_dim + rope_dim; }   // of one head
  };
  enum class Form : std::uint8_t { cheaper, absorbed, expanded };
  struct Parts {
    Dims dims;
    std::int32_t cache_layer = 0;
    Form form = Form::cheaper;  // the others to compare the two
    float scale = 0.0f;         // multiplies scores
    float norm_eps = 1e-6f;
    RopeFrequencies rope;
    bool rope_interleaved = true;
    std::unique_ptr<Linear> q_a, q;                     // q_a: [q_rank, H] or null; q: [heads * (nope + rope), q_rank or H]
    Parameter q_norm;                                   // [q_rank]
    std::unique_ptr<Linear> kv_a;                       // [latent + rope, H]
    Parameter kv_norm;                                  // [latent]
    std::vector<std::unique_ptr<Linear>> absorb_key;    // per head [latent, nope]: the transposed up-projection of keys
    std::vector<std::unique_ptr<Linear>> expand_key;    // per head [nope, latent]
    std::vector<std::unique_ptr<Linear>> expand_value;  // per head [value_dim, latent]
    std::unique_ptr<Linear> o;                          // [H, heads * value_dim]
  };
  explicit LatentAttention(Parts parts) : parts_(std::move(parts)) {}
  Parts& parts() { return parts_; }

  // Takes kv_b [heads * (nope + value), latent], rows grouped by head, apart into absorb_key, expand_key and expand_value.
  void set_up_projection(const QuantMatrix& kv_b, const Ops&);

  // Whether the expanded form is the cheaper one for the last `rows` tokens of a context. Products per head:
  //   absorbed  (2 latent + rope) of each row with each position that it sees, and latent (nope + value) of each row
  //   expanded  (nope + rope + value) of each row with each position, and latent (nope + value) of each token of the context
  // so whole prompts and long chunks are expanded; one row, or few of a long context, are not. Equal costs: absorbed. What the
  // other sequences of a batch are never matters.
  static bool expands(const Dims&, std::int64_t rows, std::int64_t context);

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const override;
  void run(ConstTensorView x, const Step&, TensorView out) const noexcept override;

 private:
  bool expands(const SequenceRows&) const noexcept;
  std::int64_t longest_expanded(std::int64_t tokens, std::int64_t max_context) const;
  AttentionSpec absorbed_spec() const;
  AttentionSpec expanded_spec() const;
  std::size_t absorbed_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const;
  std::size_t expanded_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const;
  TensorView queries(ConstTensorView x, const Step&) const noexcept;
  void write_keys(ConstTensorView x, const Step&, const PagedKv&) const noexcept;
  void attend_absorbed(TensorView q, const Batch&, const PagedKv&, const Forward&, TensorView out) const noexcept;
  void attend_expanded(TensorView q, const SequenceRows&, const PagedKv&, const Forward&, TensorView out) const noexcept;
  void expand(std::size_t head, const SequenceRows&, const PagedKv& cache, const PagedKv& to, const Forward&) const noexcept;
  void turn(TensorView heads, std::int64_t first, const Step&) const noexcept;
  Parts parts_;
  std::vector<std::vector<float>> up_projections_;  // under the linears of the heads, which may look at them in place
};

}  // namespace conclave
