// f32, f16 and bf16 weights: the codes are the values.
#include <cmath>

#include "conclave/error.h"
#include "quant/codec.h"
#include "quant/elements.h"
#include "quant/encoding.h"
#include "quant/linear_tensors.h"

namespace conclave {
namespace {

template <class T>
void copy_row(const ConstTensorView& codes, std::int64_t row, std::span<float> out) noexcept {
  const std::int64_t stride = codes.stride[1];
  const std::byte* const from = codes.data + offset_of(codes, row, 0) * static_cast<std::int64_t>(sizeof(T));
  for (std::size_t k = 0; k < out.size(); ++k) {
    const T value = load<T>(from, static_cast<std::int64_t>(k) * stride);
    if constexpr (std::is_same_v<T, float>)
      out[k] = value;
    else
      out[k] = value.to_float();
  }
}

class Plain final : public Codec {
 public:
  std::string_view name() const noexcept override { return "plain"; }
  bool handles(const QuantScheme& s) const noexcept override { return s == kF32 || s == kF16 || s == kBf16; }

  // The type of the published tensor decides: a checkpoint may keep single matrices (routers) in another one than torch_dtype.
  QuantMatrix bind(const TensorSource& source, std::string_view module, const QuantScheme& scheme, std::int64_t rows,
                   std::int64_t cols, std::vector<std::string>& problems) const override {
    LinearTensors tensors(source, module, problems);
    const DType type = scheme == kF32 ? DType::f32 : scheme == kF16 ? DType::f16 : DType::bf16;
    const float spread = std::sqrt(3.0f / static_cast<float>(cols));
    const NamedTensor weight = tensors.required({".weight"}, {type, {rows, cols}, -spread, spread});
    tensors.expect(weight, {DType::bf16, DType::f16, DType::f32}, rows, cols);
    if (!tensors.ok()) return {};
    QuantMatrix matrix;
    matrix.scheme = weight.view.dtype == DType::f32 ? kF32 : weight.view.dtype == DType::f16 ? kF16 : kBf16;
    matrix.rows = rows;
    matrix.cols = cols;
    matrix.codes = weight.view;
    return matrix;
  }

  void decode_row(const QuantMatrix& matrix, std::int64_t row, std::span<float> out) const noexcept override {
    switch (matrix.codes.dtype) {
      case DType::f32: return copy_row<float>(matrix.codes, row, out);
      case DType::f16: return copy_row<f16>(matrix.codes, row, out);
      default: return copy_row<bf16>(matrix.codes, row, out);
    }
  }

  OwnedMatrix encode(std::span<const float> values, std::int64_t rows, std::int64_t cols,
                     const QuantScheme& scheme) const override {
    OwnedMatrix out = begin_encoding(values, rows, cols, 1, scheme);
    if (scheme == kF16) throw Error(Errc::unsupported, "weights are read as f16 but not written; use bf16 or f32");
    const TensorView codes = new_tensor(out, &QuantMatrix::codes, scheme == kF32 ? DType::f32 : DType::bf16, {rows, cols});
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (scheme == kF32) {
        codes.as<float>()[i] = values[i];
      } else {
        codes.as<bf16>()[i] = bf16::from_float(values[i]);
      }
    }
    return out;
  }

  void quantize_activation_row(const QuantScheme& scheme, float, std::span<float> row) const noexcept override {
    CONCLAVE_CHECK(scheme != kF16, "no published format rounds activations to f16");
    if (scheme != kBf16) return;
    for (float& x : row) x = round_to_bf16(x);
  }
};

}  // namespace

const Codec& plain_codec() {
  static const Plain codec;
  return codec;
}

}  // namespace conclave
