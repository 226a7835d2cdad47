#pragma once
// Causal attention as its formula reads, in float64: one row, one head, one position after the other.
#include <cstddef>
#include <cstdint>

#include "device/thread_pool.h"
#include "device/workspace.h"
#include "ops/ops.h"

namespace conclave {

// Sized for a pool of usable_threads().
std::size_t reference_attention_workspace_bytes(const AttentionSpec&, std::int64_t max_context);

void reference_attention(ConstTensorView q, const PagedKv&, const Batch&, const AttentionSpec&, TensorView out, Workspace&,
                         ThreadPool&) noexcept;

// Stores the rows of k and v [T, kv_heads, head_dim] at their positions.
void reference_write_kv(ConstTensorView k, ConstTensorView v, const Batch&, const PagedKv&) noexcept;

// Keys at positions [first, first + n) -> out [n, kv_heads, head_dim].
void reference_read_keys(const PagedKv&, std::span<const std::int32_t> pages, std::int64_t first, TensorView out) noexcept;

}  // namespace conclave
