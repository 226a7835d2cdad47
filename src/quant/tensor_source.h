#pragma once
// Where formats look for tensors by name; a checkpoint is one, a test's map is another.
#include <optional>
#include <string_view>

#include "tensor/view.h"

namespace conclave {

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // The tensor of that exact name; data stays valid as long as the source. Nothing when there is none.
  // Throws Error{unsupported} when it exists with an element type that we cannot hold (F4, F6_E2M3, ...).
  virtual std::optional<ConstTensorView> find(std::string_view name) const = 0;
};

}  // namespace conclave
