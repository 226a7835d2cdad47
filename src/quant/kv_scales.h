#pragma once
// Scales of an FP8 KV cache, published beside the attention's tensors under one of several names: the cache stores e4m3(k /
// k_scale) and is read as code * k_scale; v alike. They are looked up by the attention's path, before anything is renamed or fused.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/tensor_source.h"

namespace conclave {

struct KvScales {
  float k = 1.0f, v = 1.0f;
  // The tensor each came from; empty: not published, so 1. Where only one of the two is published it serves both.
  std::string k_source, v_source;

  bool published() const { return !k_source.empty(); }
};

// The scales of the attention module at this path ("model.layers.0.self_attn", "backbone.layers.4.mixer"). A tensor that is not one
// finite number above 0, or two spellings that disagree, is added to `problems` by name.
KvScales find_kv_scales(const TensorSource&, std::string_view attention, std::vector<std::string>& problems);

// Whether a tensor of this name is a scale of a KV cache, in any of the spellings: what find_kv_scales() did not take for any layer
// has no place in the model.
bool names_kv_scale(std::string_view tensor);

// "KV scales: 94 of 94 layers published (k 0.52..1.7, v 0.4..2.1; such as model.layers.0.self_attn.k_proj.k_scale)"; without the
// numbers where only names were read.
std::string describe(std::span<const KvScales> layers, bool values_read = true);

}  // namespace conclave
