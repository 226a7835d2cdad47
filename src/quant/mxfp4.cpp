// MXFP4: E2M1 codes with a power of two (E8M0) per 32 of a row. gpt-oss publishes stacked experts as blocks [N, K / 32, 16] and
// scales [N, K / 32]; compressed-tensors a matrix of bytes [N, K / 2] and weight_scale [N, K / 32].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quant/codec.h"
#include "quant/encoding.h"
#include "quant/fp4_codes.h"
#include "quant/linear_tensors.h"
#include "quant/scales.h"

namespace conclave {
namespace {

constexpr std::int64_t kBlock = 32;

// Blocks [rows, blocks, 16] seen as bytes [rows, blocks * 16]; any other tensor as it is.
NamedTensor join_blocks(NamedTensor t) {
  const ConstTensorView view = t.view;
  if (view.shape.rank() != 3 || view.shape[2] != kBlock / 2 || view.stride[1] != view.stride[2] * kBlock / 2) return t;
  t.view.shape = Shape{view.shape[0], view.shape[1] * kBlock / 2};
  t.view.stride = {view.stride[0], view.stride[2]};
  return t;
}

// OCP MX: 2^(floor(log2(amax)) - 2) as an E8M0 code; 0 for a block of zeros.
std::uint8_t weight_scale(float amax) {
  return amax == 0.0f ? std::uint8_t{0} : static_cast<std::uint8_t>(std::clamp(std::ilogb(amax) - 2 + 127, 0, 254));
}

// value / 2^(code - 127), exactly.
e2m1 encode_element(float value, std::uint8_t scale) { return e2m1::from_float(std::ldexp(value, 127 - scale)); }

class Mxfp4 final : public Codec {
 public:
  std::string_view name() const noexcept override { return "mxfp4"; }
  bool handles(const QuantScheme& s) const noexcept override {
    QuantScheme weights = s;
    weights.dynamic = false;
    return weights == kMxfp4;
  }

  QuantMatrix bind(const TensorSource& source, std::string_view module, const QuantScheme& scheme, std::int64_t rows,
                   std::int64_t cols, std::vector<std::string>& problems) const override {
    LinearTensors tensors(source, module, problems);
    if (cols % kBlock != 0)
      tensors.problem(tensors.module(), fmt::format("has {} inputs; mxfp4 needs a multiple of {}", cols, kBlock));
    QuantMatrix matrix;
    matrix.scheme = scheme;
    matrix.rows = rows;
    matrix.cols = cols;
    const NamedTensor codes =
        join_blocks(tensors.required({".weight_packed", ".blocks", "_blocks"}, {DType::u8, {rows, cols / 2}}));
    tensors.expect(codes, {DType::u8}, rows, cols / 2);
    matrix.codes = codes.view;
    const float unit = unit_gain_scale(cols, kE2m1Rms);
    const TensorNeed need{DType::f8e8m0, {rows, cols / kBlock}, unit, unit};
    const NamedTensor scale =
        codes.name.ends_with("blocks") ? tensors.required({".scales", "_scales"}, need) : tensors.required({".weight_scale"}, need);
    matrix.scales_name = scale.name;
    matrix.scales = tensors.scales(scale, {DType::u8, DType::f8e8m0}, rows, cols / kBlock, DType::f8e8m0);
    return tensors.ok() ? matrix : QuantMatrix{};
  }

  void decode_row(const QuantMatrix& m, std::int64_t row, std::span<float> out) const noexcept override {
    for (std::int64_t k = 0; k < m.cols; ++k) {
      const float scale = load_float(m.scales, offset_of(m.scales, row, k / kBlock));
      out[static_cast<std::size_t>(k)] = load_e2m1(m.codes, row, k) * scale;
    }
  }

  OwnedMatrix encode(std::span<const float> values, std::int64_t rows, std::int64_t cols,
                     const QuantScheme& scheme) const override {
    OwnedMatrix out = begin_encoding(values, rows, cols, kBlock, scheme);
    const TensorView codes = new_tensor(out, &QuantMatrix::codes, DType::u8, {rows, cols / 2});
    const TensorView scales = new_tensor(out, &QuantMatrix::scales, DType::f8e8m0, {rows, cols / kBlock});
    for (std::int64_t b = 0; b < rows * cols / kBlock; ++b) {
      const std::span<const float> block = values.subspan(static_cast<std::size_t>(b * kBlock), kBlock);
      const std::uint8_t scale = weight_scale(largest_magnitude(block));
      scales.as<f8e8m0>()[b] = f8e8m0{scale};
      for (std::size_t j = 0; j < kBlock; j += 2)
        codes.as<std::uint8_t>()[b * kBlock / 2 + static_cast<std::int64_t>(j / 2)] =
            pack_e2m1(encode_element(block[j], scale), encode_element(block[j + 1], scale));
    }
    return out;
  }

  // The run-time rule rounds the scale up from a significand of 1.75 on, so that large elements saturate less.
  void quantize_activation_row(const QuantScheme&, float, std::span<float> row) const noexcept override {
    for (std::size_t k = 0; k < row.size(); k += kBlock) {
      const std::span<float> block = row.subspan(k, std::min<std::size_t>(kBlock, row.size() - k));
      const std::uint8_t scale = mx_scale(largest_magnitude(block), 2);
      for (float& x : block) x = std::ldexp(encode_element(x, scale).to_float(), scale - 127);
    }
  }
};

}  // namespace

const Codec& mxfp4_codec() {
  static const Mxfp4 codec;
  return codec;
}

}  // namespace conclave
