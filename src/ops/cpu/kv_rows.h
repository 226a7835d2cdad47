#pragma once
// Reading and writing one token's keys or values of one head in the paged cache, by its dtype.
#include <cstdint>
#include <span>

#include "kernels/cpu/table.h"
#include "tensor/view.h"

namespace conclave {

// One row [head_dim] of the cache: position `position` of a sequence with these pages.
std::byte* kv_row(const TensorView& cache, std::int32_t page_tokens, std::span<const std::int32_t> pages, std::int64_t position,
                  std::int64_t head) noexcept;

// Stores head_dim values, rounded to `dtype`; f8e4m3 stores value / scale.
void store_kv_row(const KernelTable&, const float* values, std::int64_t n, DType dtype, float scale, std::byte* row) noexcept;

// Head_dim values as float32, scale applied.
void load_kv_row(const std::byte* row, std::int64_t n, DType dtype, float scale, float* out) noexcept;

// The same for f8e4m3 only.
void decode_fp8_row(const std::byte* row, std::int64_t n, float scale, float* out) noexcept;

}  // namespace conclave
