#include "nn/kv_cache.h"

namespace conclave {

KvCache::KvCache(Device& device, const KvSpec& spec, std::int32_t pages, std::int32_t slots)
    : spec_(spec),
      pages_(pages),
      slots_(slots),
      buffer_(device.allocate(static_cast<std::size_t>(spec.page_bytes() * pages))),
      recurrent_(device.allocate(static_cast<std::size_t>(spec.recurrent.sequence_bytes() * slots))) {}

PagedKv KvCache::layer(std::int32_t index) const noexcept {
  const Shape shape{pages_, spec_.page_tokens, spec_.kv_heads, spec_.head_dim};
  const std::int64_t keys = shape.elements() * size_of(spec_.dtype);
  std::byte* base = buffer_.data() + (spec_.latent_values > 0 ? 1 : 2) * keys * index;
  const TensorView k(base, spec_.dtype, shape, buffer_.on_device());
  TensorView v(base + keys, spec_.dtype, shape, buffer_.on_device());
  if (spec_.latent_values > 0) {
    v = k;
    v.shape = Shape{pages_, spec_.page_tokens, spec_.kv_heads, spec_.latent_values};
  }
  const auto scale_of = [&](const std::vector<float>& scales) {
    const bool scaled = spec_.dtype == DType::f8e4m3 && !scales.empty();
    return scaled ? scales[static_cast<std::size_t>(index)] : 1.0f;
  };
  const float k_scale = scale_of(spec_.k_scales);
  return {k, v, spec_.page_tokens, k_scale, spec_.latent_values > 0 ? k_scale : scale_of(spec_.v_scales)};
}

RecurrentState KvCache::recurrent_layer(std::int32_t index) const noexcept {
  const RecurrentSpec& r = spec_.recurrent;
  std::byte* const base = recurrent_.data() + std::int64_t{index} * slots_ * r.layer_bytes();
  const TensorView history(base, DType::f32, {slots_, r.history_rows, r.history_channels}, recurrent_.on_device());
  const TensorView state(base + history.bytes(), DType::f32, {slots_, r.heads, r.head_dim, r.state_size}, recurrent_.on_device());
  return {history, state};
}

}  // namespace conclave
