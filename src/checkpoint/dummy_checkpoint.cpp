#include "checkpoint/dummy_checkpoint.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>

#include "checkpoint/safetensors_dtype.h"
#include "conclave/error.h"
#include "device/buffer.h"
#include "quant/scales.h"

namespace conclave {
namespace {

// A tensor larger than this is a mistake of config.json, and products of its shape could wrap.
constexpr double kMostElements = 0x1p50;

// Where views of a table point: not null, and never read.
constexpr std::byte kNowhere{};

// FNV-1a, so that a tensor's values depend on its name alone.
std::uint64_t seed_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// splitmix64
class Bits {
 public:
  explicit Bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Cut off rather than rounded, which is as good for numbers that mean nothing; too small for a normal number: zero.
std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, exponent = (bits >> 23) & 0xffu;
  if (exponent < 113) return static_cast<std::uint16_t>(sign);
  return static_cast<std::uint16_t>(sign | ((exponent - 112) << 10) | ((bits >> 13) & 0x3ffu));
}

// 256 values spread evenly over the range, each as its bytes.
template <class T, class Encode>
void fill_spread(std::byte* out, std::int64_t n, float low, float high, Bits bits, Encode encode) {
  std::array<T, 256> values;
  for (int i = 0; i < 256; ++i) values[static_cast<std::size_t>(i)] = encode(low + (high - low) * static_cast<float>(i) / 255.0f);
  for (std::int64_t i = 0; i < n; i += 8) {
    std::uint64_t random = bits.next();
    for (std::int64_t j = i; j < std::min(n, i + 8); ++j, random >>= 8)
      std::memcpy(out + j * static_cast<std::int64_t>(sizeof(T)), &values[random & 255u], sizeof(T));
  }
}

void fill_any(std::byte* out, std::int64_t bytes, Bits bits) {
  for (std::int64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t random = bits.next();
    std::memcpy(out + i, &random, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
  }
}

void fill(std::byte* out, const TensorNeed& need, std::uint64_t seed) {
  const Bits bits(seed);
  const std::int64_t n = need.shape.elements();
  const auto spread = [&](auto encode) { fill_spread<decltype(encode(0.0f))>(out, n, need.low, need.high, bits, encode); };
  switch (need.dtype) {
    case DType::f32: return spread([](float v) { return v; });
    case DType::bf16: return spread(bf16::from_float);
    case DType::f16: return spread(to_f16);
    case DType::f8e4m3: return spread(f8e4m3::from_float);
    case DType::f8e8m0: return spread([](float v) { return f8e8m0{e8m0_at_least(v)}; });
    default: return fill_any(out, n * size_of(need.dtype), bits);
  }
}

class DummyCheckpoint final : public Checkpoint {
 public:
  DummyCheckpoint(std::shared_ptr<const FileSet> files, DummyValues values) : files_(std::move(files)), values_(values) {}

  std::optional<ConstTensorView> find(std::string_view name) const override {
    const auto it = tensors_.find(name);
    return it == tensors_.end() ? std::nullopt : std::optional(it->second.view);
  }

  std::optional<ConstTensorView> provide(std::string_view name, const TensorNeed& need) const override {
    double elements = 1;
    for (int i = 0; i < need.shape.rank(); ++i) elements *= static_cast<double>(need.shape[i]);
    if (elements > kMostElements)
      throw Error(Errc::unsupported, fmt::format("{}: config.json asks for a tensor {} of shape {}, which no machine holds",
                                                 files_->location(), name, to_string(need.shape)));
    Tensor tensor;
    tensor.view = ConstTensorView(&kNowhere, need.dtype, need.shape);
    for (int i = 0; i < need.shape.rank(); ++i) tensor.extents.push_back(need.shape[i]);
    if (values_ == DummyValues::random) {
      tensor.memory = allocate_host(static_cast<std::size_t>(tensor.view.bytes()));
      fill(tensor.memory.data(), need, seed_of(name));
      tensor.view.data = tensor.memory.data();
    }
    total_bytes_ += static_cast<std::uint64_t>(tensor.view.bytes());
    return tensors_.emplace(name, std::move(tensor)).first->second.view;
  }

  bool has_values() const override { return values_ != DummyValues::none; }

  std::span<const std::string> names() const override {
    if (names_.size() != tensors_.size()) {
      names_.clear();
      for (const auto& [name, tensor] : tensors_) names_.push_back(name);
    }
    return names_;
  }

  std::optional<TensorInfo> info(std::string_view name) const override {
    const auto it = tensors_.find(name);
    if (it == tensors_.end()) return std::nullopt;
    const auto& [view, extents, memory] = it->second;
    return TensorInfo{safetensors_name(view.dtype), extents, static_cast<std::size_t>(view.bytes()), "dummy"};
  }

  std::vector<std::string_view> unused() const override { return {}; }
  std::uint64_t total_bytes() const override { return total_bytes_; }
  const FileSet& files() const override { return *files_; }

 private:
  struct Tensor {
    ConstTensorView view;
    std::vector<std::int64_t> extents;
    Buffer memory;
  };
  std::shared_ptr<const FileSet> files_;
  DummyValues values_;
  // Filled by provide(), which is const because to its callers a checkpoint is what it is.
  mutable std::map<std::string, Tensor, std::less<>> tensors_;
  mutable std::vector<std::string> names_;
  mutable std::uint64_t total_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Checkpoint> open_dummy_checkpoint(std::shared_ptr<const FileSet> files, DummyValues values) {
  return std::make_unique<DummyCheckpoint>(std::move(files), values);
}

}  // namespace conclave
