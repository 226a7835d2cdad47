#pragma once
// The paged KV cache of a whole model: one pool of pages per layer, all layers sharing page numbers.
#include <cstdint>
#include <vector>

#include "device/device.h"
#include "ops/paged_kv.h"

namespace conclave {

// What a model keeps per token. All layers are alike.
struct KvSpec {
  std::int32_t layers = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  DType dtype = DType::bf16;  // f32, bf16 or f8e4m3
  std::int32_t page_tokens = 16;
  std::int32_t latent_values = 0;         // > 0: values are not stored, they are the first so many dimensions of the keys (MLA)
  std::vector<float> k_scales, v_scales;  // per layer, f8e4m3 only; empty: 1

  // Keys and values of one page in all layers.
  std::int64_t page_bytes() const {
    return std::int64_t{latent_values > 0 ? 1 : 2} * layers * page_tokens * kv_heads * head_dim * size_of(dtype);
  }
};

class KvCache {
 public:
  // Throws Error{out_of_memory} with the size asked for.
  KvCache(Device&, const KvSpec&, std::int32_t pages);

  const KvSpec& spec() const noexcept { return spec_; }
  std::int32_t pages() const noexcept { return pages_; }
  PagedKv layer(std::int32_t index) const noexcept;

 private:
  KvSpec spec_;
  std::int32_t pages_;
  Buffer buffer_;
};

}  // namespace conclave
