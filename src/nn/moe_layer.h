#pragma once
// The mixture-of-experts block: router, routed experts as one kernel, and an optional shared expert that every token takes.
#include <memory>

#include "moe/backend.h"
#include "nn/block.h"
#include "nn/mlp.h"
#include "nn/parameter.h"

namespace conclave {

class MoeLayer final : public Block {
 public:
  struct Parts {
    std::unique_ptr<Linear> router;           // [E, H], never quantised
    Parameter selection_bias;                 // [E]; empty: none
    std::unique_ptr<moe::MoeKernel> experts;  // routing included
    std::unique_ptr<Mlp> shared;              // null: none
    std::unique_ptr<Linear> shared_gate;      // [1, H]: the shared expert's output is multiplied by its sigmoid; null: not gated
  };
  Parts& parts() { return parts_; }

  std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const override;
  void run(ConstTensorView x, const Step&, TensorView out) const noexcept override;

 private:
  void add_shared(ConstTensorView x, const Forward&, TensorView out) const noexcept;
  Parts parts_;
};

}  // namespace conclave
