// NVFP4: E2M1 codes, an E4M3 scale per 16 of a row, and one float32 scale for the matrix. ModelOpt publishes the global scales as
// factors (weight_scale_2, input_scale), compressed-tensors as divisors (weight_global_scale, input_global_scale).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "quant/codec.h"
#include "quant/encoding.h"
#include "quant/fp4_codes.h"
#include "quant/linear_tensors.h"
#include "quant/scales.h"

namespace conclave {
namespace {

constexpr std::int64_t kBlock = 16;

class Nvfp4 final : public Codec {
 public:
  std::string_view name() const noexcept override { return "nvfp4"; }
  bool handles(const QuantScheme& s) const noexcept override { return s == kNvfp4; }

  QuantMatrix bind(const TensorSource& source, std::string_view module, const QuantScheme& scheme, std::int64_t rows,
                   std::int64_t cols, std::vector<std::string>& problems) const override {
    LinearTensors tensors(source, module, problems);
    if (cols % kBlock != 0)
      tensors.problem(tensors.module(), fmt::format("has {} inputs; nvfp4 needs a multiple of {}", cols, kBlock));
    QuantMatrix matrix;
    matrix.scheme = scheme;
    matrix.rows = rows;
    matrix.cols = cols;
    const NamedTensor weight = tensors.required({".weight", ".weight_packed"}, {DType::u8, {rows, cols / 2}});
    tensors.expect(weight, {DType::u8}, rows, cols / 2);
    matrix.codes = weight.view;
    const NamedTensor scale = tensors.required({".weight_scale"}, {DType::f8e4m3, {rows, cols / kBlock}, 0.75f, 1.0f});
    matrix.scales_name = scale.name;
    matrix.scales = tensors.scales(scale, {DType::f8e4m3}, rows, cols / kBlock);
    const float unit = unit_gain_scale(cols, kE2m1Rms);
    const NamedTensor global = tensors.required({".weight_scale_2", ".weight_global_scale"}, {DType::f32, {}, unit, unit});
    matrix.global = tensors.scalar(global, global.name.ends_with("global_scale"));
    const NamedTensor input = tensors.optional({".input_scale", ".input_global_scale"});
    matrix.input_scale = tensors.scalar(input, input.name.ends_with("global_scale"));
    return tensors.ok() ? matrix : QuantMatrix{};
  }

  void decode_row(const QuantMatrix& m, std::int64_t row, std::span<float> out) const noexcept override {
    for (std::int64_t k = 0; k < m.cols; ++k) {
      const float scale = load_float(m.scales, offset_of(m.scales, row, k / kBlock));
      out[static_cast<std::size_t>(k)] = load_e2m1(m.codes, row, k) * scale * m.global;
    }
  }

  // As ModelOpt: global = amax(W) / (6 * 448); block = e4m3(max(amax(block) / (6 * global), 2^-9)), 1 for a block of zeros;
  // code = e2m1(value / (block * global)).
  OwnedMatrix encode(std::span<const float> values, std::int64_t rows, std::int64_t cols,
                     const QuantScheme& scheme) const override {
    OwnedMatrix out = begin_encoding(values, rows, cols, kBlock, scheme);
    const TensorView codes = new_tensor(out, &QuantMatrix::codes, DType::u8, {rows, cols / 2});
    const TensorView scales = new_tensor(out, &QuantMatrix::scales, DType::f8e4m3, {rows, cols / kBlock});
    const float amax = largest_magnitude(values);
    // A matrix of zeros has no scale of its own; any will do.
    const float global = amax == 0.0f ? 1.0f : std::max(amax / (6.0f * 448.0f), std::numeric_limits<float>::min());
    out.matrix.global = global;
    for (std::int64_t b = 0; b < rows * cols / kBlock; ++b) {
      const std::span<const float> block = values.subspan(static_cast<std::size_t>(b * kBlock), kBlock);
      const float block_amax = largest_magnitude(block);
      const float wanted = block_amax == 0.0f ? 1.0f : std::max(block_amax / (6.0f * global), 0x1p-9f);
      const f8e4m3 scale = f8e4m3::from_float(wanted);
      scales.as<f8e4m3>()[b] = scale;
      const float step = scale.to_float() * global;
      for (std::size_t j = 0; j < kBlock; j += 2)
        codes.as<std::uint8_t>()[b * kBlock / 2 + static_cast<std::int64_t>(j / 2)] =
            pack_e2m1(e2m1::from_float(block[j] / step), e2m1::from_float(block[j + 1] / step));
    }
    return out;
  }

  // block = e4m3(amax / 6 / input_scale), saturating; value = e2m1(x / (block * input_scale)) * block * input_scale. A block whose
  // scale rounds to 0 becomes zero.
  void quantize_activation_row(const QuantScheme& scheme, float input_scale, std::span<float> row) const noexcept override {
    CONCLAVE_CHECK(!scheme.dynamic && input_scale > 0.0f, to_string(scheme));
    for (std::size_t k = 0; k < row.size(); k += kBlock) {
      const std::span<float> block = row.subspan(k, std::min<std::size_t>(kBlock, row.size() - k));
      const float step = f8e4m3::from_float(largest_magnitude(block) / 6.0f / input_scale).to_float() * input_scale;
      for (float& x : block) x = step > 0.0f ? e2m1::from_float(x / step).to_float() * step : 0.0f;
    }
  }
};

}  // namespace

const Codec& nvfp4_codec() {
  static const Nvfp4 codec;
  return codec;
}

}  // namespace conclave
