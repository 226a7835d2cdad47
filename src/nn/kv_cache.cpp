#include "nn/kv_cache.h"

namespace conclave {

KvCache::KvCache(Device& device, const KvSpec& spec, std::int32_t pages)
    : spec_(spec), pages_(pages), buffer_(device.allocate(static_cast<std::size_t>(spec.page_bytes() * pages))) {}

PagedKv KvCache::layer(std::int32_t index) const noexcept {
  const Shape shape{pages_, spec_.page_tokens, spec_.kv_heads, spec_.head_dim};
  const std::int64_t half = shape.elements() * size_of(spec_.dtype);
  std::byte* base = buffer_.data() + 2 * half * index;
  const auto scale_of = [&](const std::vector<float>& scales) {
    const bool scaled = spec_.dtype == DType::f8e4m3 && !scales.empty();
    return scaled ? scales[static_cast<std::size_t>(index)] : 1.0f;
  };
  return {TensorView(base, spec_.dtype, shape, buffer_.on_device()), TensorView(base + half, spec_.dtype, shape, buffer_.on_device()),
          spec_.page_tokens, scale_of(spec_.k_scales), scale_of(spec_.v_scales)};
}

}  // namespace conclave
