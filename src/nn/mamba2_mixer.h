#pragma once
// The mixer of Mamba-2 (arXiv:2405.21060): one projection in, a short causal convolution, a selective scan over the sequence, a
// gate, a norm by groups, one projection out. Its memory of a sequence is a state of fixed size (nn/kv_cache.h).
#include <memory>

#include "nn/block.h"
#include "nn/parameter.h"

namespace conclave {

class Mamba2Mixer final : public Block {
 public:
  struct Dims {
    std::int32_t heads = 0, head_dim = 0;  // heads * head_dim = D, the inner width
    std::int32_t groups = 0;               // of heads with b and c in common, and of channels that are normalised together
    std::int32_t state_size = 0;           // N
    std::int32_t conv_width = 0;

    std::int64_t inner() const { return std::int64_t{heads} * head_dim; }
    std::int64_t group_states() const { return std::int64_t{groups} * state_size; }
    std::int64_t conv_channels() const { return inner() + 2 * group_states(); }   // x, b, c
    std::int64_t projected() const { return inner() + conv_channels() + heads; }  // gate, x, b, c, dt
  };
  struct Parts {
    Dims dims;
    std::int32_t cache_layer = 0;  // which recurrent layer of the cache is ours
    float norm_eps = 1e-5f;
    std::unique_ptr<Linear> in, out;   // [projected, H], [H, D]
    Parameter conv_weight, conv_bias;  // [conv_channels, 1, conv_width], [conv_channels]
    Parameter a_log, dt_bias, d;       // [heads]
    Parameter norm;                    // [D]
  };
  // The linears and parameters may be filled in after construction, before the first run: loaders bind first and build later.
  explicit Mamba2Mixer(Parts parts) : parts_(std::move(parts)) {}
  Parts& parts() { return parts_; }

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const override;
  void run(ConstTensorView x, const Step&, TensorView out) const noexcept override;

 private:
  void scan(TensorView projected, const Step&, TensorView out) const noexcept;
  void normalise(TensorView y, const Forward&) const noexcept;
  Parts parts_;
};

// What the cache holds for it.
RecurrentSpec recurrent_spec(const Mamba2Mixer::Dims&);

}  // namespace conclave
