#pragma once
// What a whole model remembers of its sequences: the paged KV cache, one pool of pages per layer with all layers sharing page
// numbers, and the recurrent states of layers that keep one per sequence.
#include <cstdint>
#include <vector>

#include "device/device.h"
#include "ops/paged_kv.h"
#include "ops/recurrent_state.h"

namespace conclave {

// What layers with a recurrence keep per sequence, in float32. All of them are alike. Such a state is that of the last row seen and
// of no earlier one, so a model that has any can take a sequence up only where it stands or from its beginning: pages of a common
// prefix cannot be shared, and rows cannot be taken back.
struct RecurrentSpec {
  std::int32_t layers = 0;                               // 0: the model has none
  std::int32_t history_rows = 0, history_channels = 0;   // inputs of a convolution
  std::int32_t heads = 0, head_dim = 0, state_size = 0;  // of a scan

  std::int64_t history_values() const { return std::int64_t{history_rows} * history_channels; }
  std::int64_t state_values() const { return std::int64_t{heads} * head_dim * state_size; }
  std::int64_t layer_bytes() const {  // per sequence
    return (history_values() + state_values()) * static_cast<std::int64_t>(sizeof(float));
  }
  std::int64_t sequence_bytes() const { return layers * layer_bytes(); }
};

// What a model keeps per token. All layers are alike.
struct KvSpec {
  std::int32_t layers = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  DType dtype = DType::bf16;  // f32, bf16 or f8e4m3
  std::int32_t page_tokens = 16;
  std::int32_t latent_values = 0;         // > 0: values are not stored, they are the first so many dimensions of the keys (MLA)
  std::vector<float> k_scales, v_scales;  // per layer, f8e4m3 only; empty: 1
  RecurrentSpec recurrent;

  // Keys and values of one page in all layers.
  std::int64_t page_bytes() const {
    return std::int64_t{latent_values > 0 ? 1 : 2} * layers * page_tokens * kv_heads * head_dim * size_of(dtype);
  }
};

class KvCache {
 public:
  // `slots`: how many sequences may have a recurrent state at a time. Throws Error{out_of_memory} with the size asked for.
  KvCache(Device&, const KvSpec&, std::int32_t pages, std::int32_t slots);

  const KvSpec& spec() const noexcept { return spec_; }
  std::int32_t pages() const noexcept { return pages_; }
  PagedKv layer(std::int32_t index) const noexcept;
  RecurrentState recurrent_layer(std::int32_t index) const noexcept;

 private:
  KvSpec spec_;
  std::int32_t pages_, slots_;
  Buffer buffer_, recurrent_;
};

}  // namespace conclave
