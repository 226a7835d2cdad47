#pragma once
// The meaning of a format: slow, plain, exact. Every kernel is judged by decode_row().
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/matrix.h"
#include "quant/tensor_source.h"

namespace conclave {

class Codec {
 public:
  virtual ~Codec() = default;
  // Of the format family: "plain", "fp8", "nvfp4", "mxfp4", "int4".
  virtual std::string_view name() const noexcept = 0;
  virtual bool handles(const QuantScheme&) const noexcept = 0;

  // The matrix of linear `module` ("model.layers.0.mlp.experts.3.gate_proj") from its published tensors, in every published
  // spelling of this format. Shapes are checked against rows x cols, scales of whole matrices by the rule of quant/scales.h; an
  // input scale may be absent (input_scale 0), not bad. Other values are not read: scales of blocks, which may be gigabytes, are
  // for the caller to check (describe_bad_scales). What is wrong is appended to `problems`, each entry naming the tensor, and an
  // empty matrix is returned. The matrix's scheme says what was found, which may differ from the one asked for in the type of the
  // scales, and for plain weights in their own: compare and select by it.
  virtual QuantMatrix bind(const TensorSource&, std::string_view module, const QuantScheme&, std::int64_t rows, std::int64_t cols,
                           std::vector<std::string>& problems) const = 0;

  // The values of one row, to float32 exactly as the format defines them. out.size() == matrix.cols.
  virtual void decode_row(const QuantMatrix&, std::int64_t row, std::span<float> out) const noexcept = 0;

  // Quantises row-major values [rows, cols] the way the format's publishers do (fixtures/formats says how).
  virtual OwnedMatrix encode(std::span<const float> values, std::int64_t rows, std::int64_t cols, const QuantScheme&) const = 0;

  // Activations: rounds one token's row to what the scheme can hold and back ("fake quantisation", the reference of every
  // kernel that quantises its input). `input_scale` is the linear's static scale; unused by dynamic schemes.
  virtual void quantize_activation_row(const QuantScheme&, float input_scale, std::span<float> row) const noexcept = 0;
};

// All codecs, from codecs.def.
std::span<const Codec* const> all_codecs();
// The codec of a scheme; a scheme nobody handles is Error{unsupported} with its fields in words.
const Codec& codec_for(const QuantScheme&);

}  // namespace conclave
