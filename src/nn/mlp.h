#pragma once
// The dense feed-forward block: down(act(gate(x)) * up(x)), or down(act(up(x))) without a gate.
#include <memory>

#include "nn/block.h"

namespace conclave {

class Mlp final : public Block {
 public:
  struct Parts {
    Elementwise activation = Elementwise::silu;
    std::unique_ptr<Linear> gate, up, down;  // gate, up: [I, H], down: [H, I]; gate null: not gated
  };
  explicit Mlp(Elementwise activation) { parts_.activation = activation; }
  Parts& parts() { return parts_; }

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const override;
  void run(ConstTensorView x, const Step& step, TensorView out) const noexcept override { run(x, step.forward, out); }
  // Needs no batch: shared experts are an Mlp too.
  void run(ConstTensorView x, const Forward&, TensorView out) const noexcept;

 private:
  Parts parts_;
};

}  // namespace conclave
