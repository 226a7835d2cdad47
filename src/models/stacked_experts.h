#pragma once
// Experts stored as one tensor per projection seen as one tensor per expert, without copies: a view for every name that a format
// looks up. gpt-oss and Llama-4 publish so, each in its own order.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quant/tensor_source.h"

namespace conclave {

// How gate and up share the rows of gate_up_proj.
enum class GateUp : std::uint8_t {
  halves,       // rows 0..I-1 gate, I..2I-1 up
  interleaved,  // even rows gate, odd rows up (gpt-oss)
};

class StackedExperts final : public TensorSource {
 public:
  // `at`: the layer's path with its last dot ("model.layers.3.mlp."). Tensors lie under "<at>experts.gate_up_proj" and
  // "<at>experts.down_proj", with a suffix for scales and biases. A matrix may be stored [E, out, in] or transposed [E, in, out]: where
  // extents do not tell, `transposed` does, as the architecture defines it.
  StackedExperts(const TensorSource& source, std::string at, GateUp order, std::int64_t hidden, std::int64_t inter, bool transposed)
      : source_(source), at_(std::move(at)), order_(order), hidden_(hidden), inter_(inter), transposed_(transposed) {}

  // Answers to "<at>experts.<e>.{gate_proj, up_proj, down_proj}<suffix>"; other names are passed on.
  std::optional<ConstTensorView> find(std::string_view name) const override;

 private:
  struct Place {
    std::int64_t expert;
    int part;  // 0 gate, 1 up, 2 down
    std::string_view suffix;
  };
  std::optional<Place> parse(std::string_view name) const;
  std::optional<ConstTensorView> slice(ConstTensorView stacked, const Place&) const;
  // Rows of gate or up among the 2 * I of both.
  ConstTensorView rows_of(ConstTensorView both, int part) const;

  const TensorSource& source_;
  std::string at_;
  GateUp order_;
  std::int64_t hidden_, inter_;
  bool transposed_;
};

}  // namespace conclave
