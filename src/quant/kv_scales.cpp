#include "quant/kv_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "quant/linear_tensors.h"

namespace conclave {
namespace {

// What follows the attention's path, most usual first: ModelOpt, a fused projection, inside an attention object,
// compressed-tensors, its cache form, its older output form; last the deprecated single scale of both.
constexpr std::array<std::string_view, 7> kKeys = {".k_proj.k_scale", ".qkv_proj.k_scale",    ".attn.k_scale", ".k_scale",
                                                   ".k_cache.scale",  ".k_proj.output_scale", ".kv_scale"};
constexpr std::array<std::string_view, 7> kValues = {".v_proj.v_scale", ".qkv_proj.v_scale",    ".attn.v_scale", ".v_scale",
                                                     ".v_cache.scale",  ".v_proj.output_scale", ".kv_scale"};

struct Scale {
  float value = 1.0f;
  std::string source;
};

Scale find_scale(LinearTensors& tensors, std::span<const std::string_view> suffixes) {
  Scale found;
  for (std::string_view suffix : suffixes) {
    const NamedTensor tensor = tensors.optional({suffix});
    if (!tensor) continue;
    const float value = tensors.scalar(tensor);
    if (value == 0.0f) continue;  // its problem is noted
    if (found.source.empty()) {
      found = {value, tensor.name};
    } else if (found.value != value) {
      tensors.problem(tensor.name, fmt::format("is {}, but '{}' is {}; both name one scale", value, found.source, found.value));
    }
  }
  return found;
}

}  // namespace

KvScales find_kv_scales(const TensorSource& source, std::string_view attention, std::vector<std::string>& problems) {
  LinearTensors tensors(source, attention, problems);
  Scale k = find_scale(tensors, kKeys), v = find_scale(tensors, kValues);
  if (k.source.empty()) k = v;
  if (v.source.empty()) v = k;
  return {k.value, v.value, std::move(k.source), std::move(v.source)};
}

bool names_kv_scale(std::string_view tensor) {
  const auto ends = [&](std::string_view suffix) { return tensor.size() > suffix.size() && tensor.ends_with(suffix); };
  return std::any_of(kKeys.begin(), kKeys.end(), ends) || std::any_of(kValues.begin(), kValues.end(), ends);
}

std::string describe(std::span<const KvScales> layers, bool values_read) {
  std::size_t published = 0;
  KvScales low, high;
  std::string example;
  for (const KvScales& s : layers) {
    if (!s.published()) continue;
    if (published++ == 0) {
      low = high = s;
      example = s.k_source;
    }
    low.k = std::min(low.k, s.k);
    low.v = std::min(low.v, s.v);
    high.k = std::max(high.k, s.k);
    high.v = std::max(high.v, s.v);
  }
  if (published == 0) return fmt::format("KV scales: none published for {} layers; an FP8 cache would use 1", layers.size());
  if (!values_read) return fmt::format("KV scales: {} of {} layers published (such as {})", published, layers.size(), example);
  return fmt::format("KV scales: {} of {} layers published (k {}..{}, v {}..{}; such as {})", published, layers.size(), low.k,
                     high.k, low.v, high.v, example);
}

}  // namespace conclave
