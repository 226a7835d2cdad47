#pragma once
// One layer's part of the paged KV cache.
#include <cstdint>

#include "tensor/view.h"

namespace conclave {

// k, v: [pages, page_tokens, kv_heads, head_dim], dtype f32, bf16 or f8e4m3. Position p of a sequence lies in its page
// pages[p / page_tokens] at p % page_tokens. f8e4m3 stores fp8(k / k_scale); bf16 and f32 have scale 1.
// Latent attention (MLA) stores no values: v then looks at the first dimensions of k.
struct PagedKv {
  TensorView k, v;
  std::int32_t page_tokens = 0;
  float k_scale = 1.0f, v_scale = 1.0f;
};

}  // namespace conclave
