#pragma once
// Where formats look for tensors by name; a checkpoint is one, a test's map is another, a model without weights a third.
#include <optional>
#include <string_view>

#include "tensor/view.h"

namespace conclave {

// What a tensor must be like for a place in a model, for sources that make what is not stored.
struct TensorNeed {
  DType dtype;
  Shape shape;
  // Values worth computing with are spread over [low, high]. Both 0: codes of packed formats, of which any bits are good.
  float low = 0.0f, high = 0.0f;
};

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // The tensor of that exact name; data stays valid as long as the source. Nothing when there is none.
  // Throws Error{unsupported} when it exists with an element type that we cannot hold (F4, F6_E2M3, ...).
  virtual std::optional<ConstTensorView> find(std::string_view name) const = 0;
  // Asked for what must be there and find() does not have, under any spelling: a source of stand-ins makes it, others have nothing.
  virtual std::optional<ConstTensorView> provide(std::string_view, const TensorNeed&) const { return std::nullopt; }
  // False: only names, types and shapes mean anything, and no view may be read.
  virtual bool has_values() const { return true; }
};

}  // namespace conclave
