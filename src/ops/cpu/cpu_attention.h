#pragma once
// Causal attention over the paged cache on the CPU kernels.
//
// The positions a row sees are cut into spans of a fixed length, counted from the first of them. Each span is reduced by itself to
// (largest score, sum of exponentials, weighted sum of values), and the spans are merged in order (the online softmax of Milakov
// and Gimelshein, 2018). Who computes a span never changes its bits, so a row's result does not depend on the batch or on the
// threads.
#include <cstddef>
#include <cstdint>

#include "device/thread_pool.h"
#include "device/workspace.h"
#include "kernels/cpu/table.h"
#include "ops/ops.h"

namespace conclave {

std::size_t cpu_attention_workspace_bytes(const AttentionSpec&, std::int64_t tokens, std::int64_t max_context, int threads);

// As Ops::attention. The pool has at most the `threads` that the workspace was sized for.
void cpu_attention(const KernelTable&, ConstTensorView q, const PagedKv&, const Batch&, const AttentionSpec&, TensorView out,
                   Workspace&, ThreadPool&) noexcept;

}  // namespace conclave
