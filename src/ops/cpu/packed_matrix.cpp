#include "ops/cpu/packed_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "base/bf16.h"
#include "base/check.h"
#include "base/math.h"
#include "quant/codec.h"
#include "quant/elements.h"

namespace conclave {
namespace {

// The kernel that reads matrices of this scheme as they are.
std::optional<GemmFormat> kernel_format(const QuantScheme& s, std::int64_t cols) {
  const bool per_row = s.scale_rows == 1;
  switch (s.code) {
    case Code::f32: return kGemmF32;
    case Code::bf16: return kGemmBf16;
    case Code::f16: return std::nullopt;
    case Code::f8e4m3: return kGemmFp8;
    case Code::e2m1:
      if (per_row && s.scale_cols == 16 && s.scale == DType::f8e4m3) return kGemmNvfp4;
      if (per_row && s.scale_cols == 32 && s.scale == DType::f8e8m0) return kGemmMxfp4;
      return std::nullopt;
    case Code::int4:  // the kernels take bytes, so two columns at a time
      if (per_row && s.scale_cols % 2 == 0 && cols % 2 == 0) return kGemmInt4;
      return std::nullopt;
  }
  return std::nullopt;
}

bool rows_contiguous(const ConstTensorView& v) { return v.shape[1] == 1 || v.stride[1] == 1; }

bool aligned(const ConstTensorView& v, std::size_t to) { return reinterpret_cast<std::uintptr_t>(v.data) % to == 0; }

// The elements of a [rows, cols] view side by side.
Buffer copied(const ConstTensorView& v) {
  const auto element = static_cast<std::size_t>(size_of(v.dtype));
  Buffer out = allocate_host(static_cast<std::size_t>(v.bytes()));
  std::byte* at = out.data();
  for (std::int64_t r = 0; r < v.shape[0]; ++r) {
    if (rows_contiguous(v)) {
      const std::size_t row_bytes = static_cast<std::size_t>(v.shape[1]) * element;
      std::memcpy(at, v.data + offset_of(v, r, 0) * size_of(v.dtype), row_bytes);
      at += row_bytes;
      continue;
    }
    for (std::int64_t c = 0; c < v.shape[1]; ++c, at += element)
      std::memcpy(at, v.data + offset_of(v, r, c) * size_of(v.dtype), element);
  }
  return out;
}

struct Rows {
  const std::uint8_t* data = nullptr;
  std::int64_t stride = 0;  // bytes
};

// The rows of a view where they lie, or copied into `owner` when a kernel could not read them there.
Rows in_place_or_copied(const ConstTensorView& v, std::size_t alignment, Buffer& owner) {
  if (rows_contiguous(v) && aligned(v, alignment))
    return {reinterpret_cast<const std::uint8_t*>(v.data), v.stride[0] * size_of(v.dtype)};
  owner = copied(v);
  return {reinterpret_cast<const std::uint8_t*>(owner.data()), v.shape[1] * size_of(v.dtype)};
}

// The same for scales that the kernels want as float32.
Rows as_floats(const ConstTensorView& v, Buffer& owner) {
  if (v.dtype == DType::f32) return in_place_or_copied(v, alignof(float), owner);
  const std::int64_t rows = v.shape[0], cols = v.shape[1];
  owner = allocate_host(static_cast<std::size_t>(rows * cols) * sizeof(float));
  auto* out = reinterpret_cast<float*>(owner.data());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) out[r * cols + c] = load_float(v, offset_of(v, r, c));
  return {reinterpret_cast<const std::uint8_t*>(owner.data()), cols * static_cast<std::int64_t>(sizeof(float))};
}

// Zero points of int4, laid out as the scales: nibble r % 8 of word [r / 8, group]; 8 in symmetric matrices.
Buffer int4_zeros(const QuantMatrix& m, std::int64_t groups, std::int64_t stride_bytes) {
  constexpr std::int64_t kPerWord = 8;
  constexpr float kSymmetric = 8.0f;
  const std::int64_t stride = stride_bytes / static_cast<std::int64_t>(sizeof(float));
  Buffer out = allocate_host(static_cast<std::size_t>(m.rows * stride_bytes));
  auto* zeros = reinterpret_cast<float*>(out.data());
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      float zero = kSymmetric;
      if (m.scheme.zero_point) {
        const auto word = load<std::uint32_t>(m.zeros.data, offset_of(m.zeros, r / kPerWord, g));
        zero = static_cast<float>((word >> (4 * (r % kPerWord))) & 15u);
      }
      zeros[r * stride + g] = zero;
    }
  }
  return out;
}

const Codec* codec_of(const QuantScheme& s) noexcept {
  for (const Codec* codec : all_codecs())
    if (codec->handles(s)) return codec;
  return nullptr;
}

// All values as T; nothing once there is a row that `convert` says has lost by it.
template <class T, class Convert>
std::optional<Buffer> decoded_as(const QuantMatrix& m, Convert convert) {
  const Codec& codec = *codec_of(m.scheme);
  const auto cols = static_cast<std::size_t>(m.cols);
  std::vector<float> row(cols);
  Buffer out = allocate_host(static_cast<std::size_t>(m.rows) * cols * sizeof(T));
  for (std::int64_t r = 0; r < m.rows; ++r) {
    codec.decode_row(m, r, row);
    if (!convert(row, reinterpret_cast<T*>(out.data()) + r * m.cols)) return std::nullopt;
  }
  return out;
}

// In bf16 when no value loses by it, in float32 otherwise.
Buffer decoded(const QuantMatrix& m, GemmFormat& format) {
  format = kGemmBf16;
  if (auto out = decoded_as<bf16>(m, [](std::span<const float> row, bf16* to) {
        std::uint32_t bits = 0;  // of all values; the lower halves are what bf16 does not hold
        for (const float value : row) {
          *to++ = bf16{static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
          bits |= std::bit_cast<std::uint32_t>(value);
        }
        return (bits & 0xffffu) == 0;
      }))
    return std::move(*out);
  format = kGemmF32;
  return *decoded_as<float>(m, [](std::span<const float> row, float* to) { return std::ranges::copy(row, to), true; });
}

}  // namespace

bool PackedMatrix::supports(const QuantScheme& scheme) noexcept { return !scheme.dynamic && codec_of(scheme) != nullptr; }

PackedMatrix::PackedMatrix(const QuantMatrix& m) {
  CONCLAVE_CHECK(supports(m.scheme) && m.codes && m.codes.shape.rank() == 2, to_string(m.scheme));
  const std::int64_t block_rows = m.scheme.scale_rows == 0 ? std::max<std::int64_t>(m.rows, 1) : m.scheme.scale_rows;
  const std::int64_t block_cols = m.scheme.scale_cols == 0 ? std::max<std::int64_t>(m.cols, 1) : m.scheme.scale_cols;
  matrix_.rows = m.rows;
  matrix_.cols = m.cols;
  matrix_.scale_rows = static_cast<std::int32_t>(block_rows);
  matrix_.scale_cols = static_cast<std::int32_t>(block_cols);
  matrix_.global = 1.0f;
  const std::optional<GemmFormat> format = kernel_format(m.scheme, m.cols);
  if (!format) {
    codes_ = decoded(m, format_);
    matrix_.codes = reinterpret_cast<const std::uint8_t*>(codes_.data());
    matrix_.code_stride = m.cols * (format_ == kGemmBf16 ? 2 : 4);
    words_ = fmt::format("{} decoded to {}", to_string(m.scheme), format_ == kGemmBf16 ? "bf16" : "f32");
    return;
  }
  format_ = *format;
  const bool wide = format_ == kGemmF32 || format_ == kGemmBf16;  // kernels read the others byte by byte
  const Rows codes = in_place_or_copied(m.codes, wide ? static_cast<std::size_t>(size_of(m.codes.dtype)) : 1, codes_);
  matrix_.codes = codes.data;
  matrix_.code_stride = codes.stride;
  if (m.scheme.scaled) {
    const bool bytes = format_ == kGemmNvfp4 || format_ == kGemmMxfp4;
    const Rows scales = bytes ? in_place_or_copied(m.scales, 1, scales_) : as_floats(m.scales, scales_);
    matrix_.scales = scales.data;
    matrix_.scale_stride = scales.stride;
    matrix_.global = m.global;
  }
  if (format_ == kGemmInt4) {
    zeros_ = int4_zeros(m, ceil_div(m.cols, block_cols), matrix_.scale_stride);
    matrix_.zeros = reinterpret_cast<const std::uint8_t*>(zeros_.data());
  }
  words_ = fmt::format("{} {}", to_string(m.scheme), in_place() ? "in place" : "copied");
}

}  // namespace conclave
