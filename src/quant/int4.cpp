// compressed-tensors "pack-quantized": eight 4-bit integers per word along K, stored as value + 8, with a scale, and in asymmetric
// checkpoints a zero point, per group of a row. Zero points are packed the same way, but along the rows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "quant/codec.h"
#include "quant/elements.h"
#include "quant/encoding.h"
#include "quant/linear_tensors.h"
#include "quant/scales.h"

namespace conclave {
namespace {

constexpr std::int64_t kPerWord = 8;
constexpr int kOffset = 8;               // stored = value + 8
constexpr float kSmallestScale = 1e-9f;  // of a group of zeros
constexpr float kCodeRms = 4.6f;         // of values spread over -8..7

std::int64_t groups_of(const QuantScheme& s, std::int64_t cols) {
  return s.scale_cols == 0 ? 1 : ceil_div<std::int64_t>(cols, s.scale_cols);
}

int nibble(std::uint32_t word, std::int64_t index) { return static_cast<int>((word >> (4 * index)) & 15u); }

void set_nibble(const TensorView& words, std::int64_t word, std::int64_t index, int stored) {
  auto* at = words.as<std::int32_t>() + word;
  *at = static_cast<std::int32_t>(static_cast<std::uint32_t>(*at) | (static_cast<std::uint32_t>(stored) << (4 * index)));
}

// weight_shape, where published, repeats [rows, cols].
void check_shape_tensor(LinearTensors& tensors, std::int64_t rows, std::int64_t cols) {
  const NamedTensor t = tensors.optional({".weight_shape"});
  if (!t) return;
  const bool wide = t.view.dtype == DType::i64;
  if ((!wide && t.view.dtype != DType::i32) || t.view.shape != Shape{2}) {
    return tensors.problem(t.name,
                           fmt::format("is {} {}; expected i64 or i32 [2]", to_string(t.view.dtype), to_string(t.view.shape)));
  }
  const auto value = [&](int i) {
    const std::int64_t at = i * t.view.stride[0];
    return wide ? load<std::int64_t>(t.view.data, at) : load<std::int32_t>(t.view.data, at);
  };
  if (value(0) != rows || value(1) != cols)
    tensors.problem(t.name, fmt::format("holds [{}, {}]; expected [{}, {}]", value(0), value(1), rows, cols));
}

class Int4 final : public Codec {
 public:
  std::string_view name() const noexcept override { return "int4"; }
  bool handles(const QuantScheme& s) const noexcept override {
    return s.code == Code::int4 && s.scaled && s.scale_rows == 1 && s.scale_cols >= 0 && !s.global && !s.dynamic &&
           holds_floats(s.scale);
  }

  QuantMatrix bind(const TensorSource& source, std::string_view module, const QuantScheme& scheme, std::int64_t rows,
                   std::int64_t cols, std::vector<std::string>& problems) const override {
    LinearTensors tensors(source, module, problems);
    QuantMatrix matrix;
    matrix.scheme = scheme;
    matrix.rows = rows;
    matrix.cols = cols;
    const std::int64_t groups = groups_of(scheme, cols);
    const NamedTensor packed = tensors.required({".weight_packed"}, {DType::i32, {rows, ceil_div(cols, kPerWord)}});
    tensors.expect(packed, {DType::i32}, rows, ceil_div(cols, kPerWord));
    matrix.codes = packed.view;
    const float unit = unit_gain_scale(cols, kCodeRms);
    const NamedTensor scale = tensors.required({".weight_scale"}, {scheme.scale, {rows, groups}, unit, unit});
    matrix.scales_name = scale.name;
    matrix.scales = tensors.scales(scale, {DType::bf16, DType::f16, DType::f32}, rows, groups);
    matrix.scheme.scale = matrix.scales.dtype;
    const NamedTensor zeros = scheme.zero_point
                                  ? tensors.required({".weight_zero_point"}, {DType::i32, {ceil_div(rows, kPerWord), groups}})
                                  : tensors.optional({".weight_zero_point"});
    if (scheme.zero_point) {
      tensors.expect(zeros, {DType::i32}, ceil_div(rows, kPerWord), groups);
      matrix.zeros = zeros.view;
    } else if (zeros) {
      tensors.problem(zeros.name, "is in the checkpoint, but its configuration announces symmetric weights");
    }
    if (const NamedTensor order = tensors.optional({".weight_g_idx"}))
      tensors.problem(order.name, "reorders the columns of the groups (actorder \"group\"), which is not supported");
    check_shape_tensor(tensors, rows, cols);
    return tensors.ok() ? matrix : QuantMatrix{};
  }

  void decode_row(const QuantMatrix& m, std::int64_t row, std::span<float> out) const noexcept override {
    const std::int64_t width = m.scheme.scale_cols == 0 ? m.cols : m.scheme.scale_cols;
    for (std::int64_t k = 0; k < m.cols; ++k) {
      const std::int64_t group = k / width;
      int zero = kOffset;
      if (m.scheme.zero_point)
        zero = nibble(load<std::uint32_t>(m.zeros.data, offset_of(m.zeros, row / kPerWord, group)), row % kPerWord);
      const int stored = nibble(load<std::uint32_t>(m.codes.data, offset_of(m.codes, row, k / kPerWord)), k % kPerWord);
      out[static_cast<std::size_t>(k)] = static_cast<float>(stored - zero) * load_float(m.scales, offset_of(m.scales, row, group));
    }
  }

  // Symmetric: scale = amax / 7.5, value = round(x / scale). Asymmetric, lo = min(x, 0), hi = max(x, 0):
  // scale = (hi - lo) / 15, zero = -8 - round(lo / scale), value = round(x / scale) + zero. All clamped to [-8, 7]; the scale is
  // rounded to its type first.
  OwnedMatrix encode(std::span<const float> values, std::int64_t rows, std::int64_t cols,
                     const QuantScheme& scheme) const override {
    OwnedMatrix out = begin_encoding(values, rows, cols, 1, scheme);
    const std::int64_t groups = groups_of(scheme, cols), width = scheme.scale_cols == 0 ? cols : scheme.scale_cols;
    const std::int64_t words = ceil_div(cols, kPerWord);
    const TensorView codes = new_tensor(out, &QuantMatrix::codes, DType::i32, {rows, words});
    const TensorView scales = new_tensor(out, &QuantMatrix::scales, scheme.scale, {rows, groups});
    const TensorView zeros =
        scheme.zero_point ? new_tensor(out, &QuantMatrix::zeros, DType::i32, {ceil_div(rows, kPerWord), groups}) : TensorView();
    for (std::int64_t i = 0; i < rows * groups; ++i) {
      const std::int64_t row = i / groups, group = i % groups, k0 = group * width, k1 = std::min(k0 + width, cols);
      const auto group_values = values.subspan(static_cast<std::size_t>(row * cols + k0), static_cast<std::size_t>(k1 - k0));
      const float lo = std::min(*std::min_element(group_values.begin(), group_values.end()), 0.0f);
      const float hi = std::max(*std::max_element(group_values.begin(), group_values.end()), 0.0f);
      const float wanted = scheme.zero_point ? (hi - lo) / 15.0f : largest_magnitude(group_values) / 7.5f;
      const float scale = store_scale(scales, i, std::max(wanted, kSmallestScale));
      const float zero = scheme.zero_point ? std::clamp(-8.0f - std::nearbyint(lo / scale), -8.0f, 7.0f) : 0.0f;
      if (scheme.zero_point) set_nibble(zeros, row / kPerWord * groups + group, row % kPerWord, static_cast<int>(zero) + kOffset);
      for (std::int64_t k = k0; k < k1; ++k) {
        const float rounded = std::nearbyint(values[static_cast<std::size_t>(row * cols + k)] / scale) + zero;
        set_nibble(codes, row * words + k / kPerWord, k % kPerWord, static_cast<int>(std::clamp(rounded, -8.0f, 7.0f)) + kOffset);
      }
    }
    return out;
  }

  void quantize_activation_row(const QuantScheme& scheme, float, std::span<float>) const noexcept override {
    CONCLAVE_CHECK(false, fmt::format("{} is a format of weights only", to_string(scheme)));
  }
};

}  // namespace

const Codec& int4_codec() {
  static const Int4 codec;
  return codec;
}

}  // namespace conclave
