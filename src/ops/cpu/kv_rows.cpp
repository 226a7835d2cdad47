#include "ops/cpu/kv_rows.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace conclave {
namespace {

constexpr std::array<float, 256> make_fp8_values() {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < 256; ++code) values[code] = f8e4m3{static_cast<std::uint8_t>(code)}.to_float();
  return values;
}
constexpr std::array<float, 256> kFp8Values = make_fp8_values();

}  // namespace

std::byte* kv_row(const TensorView& cache, std::int32_t page_tokens, std::span<const std::int32_t> pages, std::int64_t position,
                  std::int64_t head) noexcept {
  const std::int64_t page = pages[static_cast<std::size_t>(position / page_tokens)];
  const std::int64_t offset = page * cache.stride[0] + position % page_tokens * cache.stride[1] + head * cache.stride[2];
  return cache.data + offset * size_of(cache.dtype);
}

void store_kv_row(const KernelTable& kernels, const float* values, std::int64_t n, DType dtype, float scale,
                  std::byte* row) noexcept {
  switch (dtype) {
    case DType::f32: std::memcpy(row, values, static_cast<std::size_t>(n) * sizeof(float)); return;
    case DType::bf16: kernels.to_bf16(values, reinterpret_cast<std::uint16_t*>(row), n); return;
    default: break;
  }
  CONCLAVE_CHECK(dtype == DType::f8e4m3, std::string(to_string(dtype)));
  for (std::int64_t i = 0; i < n; ++i) row[i] = std::byte{f8e4m3::from_float(values[i] / scale).bits};
}

void load_kv_row(const std::byte* row, std::int64_t n, DType dtype, float scale, float* out) noexcept {
  switch (dtype) {
    case DType::f32: std::memcpy(out, row, static_cast<std::size_t>(n) * sizeof(float)); return;
    case DType::bf16:
      for (std::int64_t i = 0; i < n; ++i) out[i] = reinterpret_cast<const bf16*>(row)[i].to_float();
      return;
    default: break;
  }
  CONCLAVE_CHECK(dtype == DType::f8e4m3, std::string(to_string(dtype)));
  decode_fp8_row(row, n, scale, out);
}

void decode_fp8_row(const std::byte* row, std::int64_t n, float scale, float* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) out[i] = kFp8Values[std::to_integer<std::uint8_t>(row[i])] * scale;
}

}  // namespace conclave
