// E4M3 weights and activations with scales per tensor, per channel (or token), per block, or per 32 (MXFP8).
#include <algorithm>

#include "base/math.h"
#include "quant/codec.h"
#include "quant/elements.h"
#include "quant/encoding.h"
#include "quant/linear_tensors.h"
#include "quant/scales.h"

namespace conclave {
namespace {

constexpr float kSmallestWeightScale = 1e-12f;
constexpr float kSmallestGroupScale = 1e-10f;                    // activations, 1 x 128
constexpr float kSmallestTokenScale = 1.0f / (448.0f * 512.0f);  // activations, one scale per token

// Of codes spread over the whole range.
constexpr float kCodeRms = f8e4m3::kMax / 1.7320508f;

// Extents of the grid of scales.
std::int64_t scale_rows(const QuantScheme& s, std::int64_t rows) {
  return s.scale_rows == 0 ? 1 : ceil_div<std::int64_t>(rows, s.scale_rows);
}
std::int64_t scale_cols(const QuantScheme& s, std::int64_t cols) {
  return s.scale_cols == 0 ? 1 : ceil_div<std::int64_t>(cols, s.scale_cols);
}

bool is_mx(const QuantScheme& s) { return s.scale == DType::f8e8m0 && s.scale_cols == 32; }

// The scale of elements whose largest magnitude is amax, before it is rounded to the type of the scales.
float scale_for(float amax, const QuantScheme& s, float smallest) {
  if (is_mx(s)) return f8e8m0{mx_scale(amax, 8)}.to_float();
  return std::max(amax / f8e4m3::kMax, smallest);
}

void round_group(std::span<float> group, float scale) {
  for (float& x : group) x = f8e4m3::from_float(x / scale).to_float() * scale;
}

class Fp8 final : public Codec {
 public:
  std::string_view name() const noexcept override { return "fp8"; }
  bool handles(const QuantScheme& s) const noexcept override {
    return s.code == Code::f8e4m3 && s.scaled && !s.global && !s.zero_point && s.scale_rows >= 0 && s.scale_cols >= 0 &&
           (holds_floats(s.scale) || s.scale == DType::f8e8m0);
  }

  // The type of the published scales decides: f32 as DeepSeek, bf16 as Qwen, E8M0 bytes where the scheme says so.
  QuantMatrix bind(const TensorSource& source, std::string_view module, const QuantScheme& scheme, std::int64_t rows,
                   std::int64_t cols, std::vector<std::string>& problems) const override {
    LinearTensors tensors(source, module, problems);
    QuantMatrix matrix;
    matrix.scheme = scheme;
    matrix.rows = rows;
    matrix.cols = cols;
    const NamedTensor weight = tensors.required({".weight"}, {DType::f8e4m3, {rows, cols}, -f8e4m3::kMax, f8e4m3::kMax});
    tensors.expect(weight, {DType::f8e4m3}, rows, cols);
    matrix.codes = weight.view;
    const std::int64_t grid_rows = scale_rows(scheme, rows), grid_cols = scale_cols(scheme, cols);
    const float unit = unit_gain_scale(cols, kCodeRms);
    const NamedTensor scale =
        tensors.required({".weight_scale_inv", ".weight_scale"}, {scheme.scale, {grid_rows, grid_cols}, unit, unit});
    matrix.scales_name = scale.name;
    matrix.scales = scheme.scale == DType::f8e8m0
                        ? tensors.scales(scale, {DType::f8e8m0, DType::u8, DType::f32}, grid_rows, grid_cols, DType::f8e8m0)
                        : tensors.scales(scale, {DType::f32, DType::bf16, DType::f16, DType::f8e8m0}, grid_rows, grid_cols);
    matrix.scheme.scale = matrix.scales.dtype;
    matrix.input_scale = tensors.scalar(tensors.optional({".input_scale"}));
    return tensors.ok() ? matrix : QuantMatrix{};
  }

  void decode_row(const QuantMatrix& m, std::int64_t row, std::span<float> out) const noexcept override {
    const std::int64_t scale_row = m.scheme.scale_rows == 0 ? 0 : row / m.scheme.scale_rows;
    const std::int64_t width = m.scheme.scale_cols == 0 ? m.cols : m.scheme.scale_cols;
    for (std::int64_t k = 0; k < m.cols; ++k) {
      const float scale = load_float(m.scales, offset_of(m.scales, scale_row, k / width));
      out[static_cast<std::size_t>(k)] = load<f8e4m3>(m.codes.data, offset_of(m.codes, row, k)).to_float() * scale;
    }
  }

  // scale = max(amax / 448, 1e-12), rounded to the type of the scales; code = e4m3(value / scale).
  OwnedMatrix encode(std::span<const float> values, std::int64_t rows, std::int64_t cols,
                     const QuantScheme& scheme) const override {
    OwnedMatrix out = begin_encoding(values, rows, cols, 1, scheme);
    const TensorView codes = new_tensor(out, &QuantMatrix::codes, DType::f8e4m3, {rows, cols});
    const std::int64_t grid_rows = scale_rows(scheme, rows), grid_cols = scale_cols(scheme, cols);
    const TensorView scales = new_tensor(out, &QuantMatrix::scales, scheme.scale, {grid_rows, grid_cols});
    const std::int64_t block_rows = scheme.scale_rows == 0 ? rows : scheme.scale_rows;
    const std::int64_t block_cols = scheme.scale_cols == 0 ? cols : scheme.scale_cols;
    for (std::int64_t i = 0; i < grid_rows * grid_cols; ++i) {
      const std::int64_t n0 = i / grid_cols * block_rows, k0 = i % grid_cols * block_cols;
      const std::int64_t n1 = std::min(n0 + block_rows, rows), k1 = std::min(k0 + block_cols, cols);
      float amax = 0.0f;
      for (std::int64_t n = n0; n < n1; ++n)
        amax = std::max(
            amax, largest_magnitude(values.subspan(static_cast<std::size_t>(n * cols + k0), static_cast<std::size_t>(k1 - k0))));
      const float scale = store_scale(scales, i, scale_for(amax, scheme, kSmallestWeightScale));
      for (std::int64_t n = n0; n < n1; ++n)
        for (std::int64_t k = k0; k < k1; ++k)
          codes.as<f8e4m3>()[n * cols + k] = f8e4m3::from_float(values[static_cast<std::size_t>(n * cols + k)] / scale);
    }
    return out;
  }

  void quantize_activation_row(const QuantScheme& scheme, float input_scale, std::span<float> row) const noexcept override {
    if (!scheme.dynamic) {
      CONCLAVE_CHECK(scheme == kFp8TensorStatic && input_scale > 0.0f, to_string(scheme));
      return round_group(row, input_scale);
    }
    const std::size_t width = scheme.scale_cols == 0 ? row.size() : static_cast<std::size_t>(scheme.scale_cols);
    const float smallest = scheme.scale_cols == 0 ? kSmallestTokenScale : kSmallestGroupScale;
    for (std::size_t k = 0; k < row.size(); k += width) {
      const std::span<float> group = row.subspan(k, std::min(width, row.size() - k));
      float scale = scale_for(largest_magnitude(group), scheme, smallest);
      if (scheme.scale == DType::f8e8m0) scale = f8e8m0{e8m0_at_least(scale)}.to_float();
      round_group(group, scale);
    }
  }
};

}  // namespace

const Codec& fp8_codec() {
  static const Fp8 codec;
  return codec;
}

}  // namespace conclave
