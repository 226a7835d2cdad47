#pragma once
// Checkpoints that keep all experts of a layer in one tensor, seen as if every expert were published on its own: the names of
// single linears ("...experts.3.gate_proj.weight") give strided views of the stacked tensors, and nothing is copied. Codecs and
// loaders then know one form only.
//
// Published, for experts at P = "model.layers.0.mlp.experts" (E experts, hidden size H, inner size I):
//   P.gate_up_proj, P.down_proj                    the weights themselves (bf16 and the like, or the bytes of NVFP4)
//   P.gate_up_proj_<part>, P.down_proj_<part>      blocks, scales, bias (gpt-oss); weight_scale, weight_scale_2, input_scale
//   (ModelOpt)
// Answered: P.<e>.gate_proj.<part>, P.<e>.up_proj.<part>, P.<e>.down_proj.<part>, the weights themselves as ".weight".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quant/tensor_source.h"

namespace conclave {

struct StackedLayout {
  std::int64_t experts = 0;
  bool interleaved = false;  // gate and up: rows 0, 2, 4, ... and 1, 3, 5, ... (gpt-oss); else the first and the second half
  bool transposed = false;   // weights and block scales are [E, in, out] (Llama-4, gpt-oss in bf16); else [E, out, in]
};

class StackedExperts final : public TensorSource {
 public:
  // `source` outlives this one. Tensors of other modules are passed on as they are.
  StackedExperts(const TensorSource& source, const StackedLayout& layout) : source_(source), layout_(layout) {}

  // Throws Error{corrupt}, naming the stacked tensor, when its shape cannot be that of so many experts.
  std::optional<ConstTensorView> find(std::string_view name) const override;
  // Has the whole stacked tensor made, where its kind is ever published stacked.
  std::optional<ConstTensorView> provide(std::string_view name, const TensorNeed&) const override;
  bool has_values() const override { return source_.has_values(); }

 private:
  const TensorSource& source_;
  StackedLayout layout_;
};

}  // namespace conclave
