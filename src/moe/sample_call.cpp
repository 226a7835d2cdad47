#include "moe/sample_call.h"

#include <limits>

#include "base/check.h"

namespace conclave::moe {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014), so that inputs are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform() {  // [0, 1)
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  double normal() {  // nearly: the sum of twelve uniforms
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::uint64_t state_;
};

void set(const TensorView& v, std::int64_t row, std::int64_t column, double value) {
  const auto x = static_cast<float>(value);
  const std::int64_t at = row * v.stride[0] + column;
  if (v.dtype == DType::f32)
    v.as<float>()[at] = x;
  else
    v.as<bf16>()[at] = bf16::from_float(x);
}

TensorView allocate(Device& device, Buffer& buffer, DType dtype, Shape shape) {
  CONCLAVE_CHECK(dtype == DType::f32 || dtype == DType::bf16);
  buffer = device.allocate(static_cast<std::size_t>(shape.elements() * size_of(dtype)) + 1);  // never empty
  CONCLAVE_CHECK(!buffer.on_device());
  return {buffer.data(), dtype, shape};
}

}  // namespace

SampleCall::SampleCall(const MoeProblem& p, std::int64_t tokens, std::uint64_t seed, Device& device) {
  Random random(seed);
  const TensorView hidden = allocate(device, hidden_, p.io, {tokens, p.hidden});
  const TensorView logits = allocate(device, logits_, p.router_logits, {tokens, p.experts});
  const TensorView out = allocate(device, out_, p.io, {tokens, p.hidden});
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < p.hidden; ++i) {
      set(hidden, t, i, random.normal());
      set(out, t, i, std::numeric_limits<double>::quiet_NaN());
    }
    for (std::int64_t e = 0; e < p.experts; ++e) set(logits, t, e, 3.0 * random.uniform() - 2.0);
    for (std::int64_t j = 0; j < p.top_k && p.local_count > 0; ++j)
      set(logits, t, p.local_first + (t * p.top_k + j) % p.local_count, 2.0 + 0.125 * static_cast<double>(j));
  }
  call_ = {hidden, logits, {}, out};
  if (p.routing.selection_bias) {
    const TensorView bias = allocate(device, bias_, DType::f32, {1, p.experts});
    for (std::int64_t e = 0; e < p.experts; ++e) set(bias, 0, e, 0.02 * random.uniform() - 0.01);
    call_.selection_bias = TensorView(bias_.data(), DType::f32, {p.experts});
  }
}

double value_at(const ConstTensorView& v, std::int64_t row, std::int64_t column) {
  const std::int64_t at = row * v.stride[0] + column * v.stride[1];
  switch (v.dtype) {
    case DType::f32: return static_cast<double>(v.as<float>()[at]);
    case DType::bf16: return static_cast<double>(v.as<bf16>()[at].to_float());
    case DType::f64: return v.as<double>()[at];
    default: CONCLAVE_CHECK(false, std::string(to_string(v.dtype)));
  }
  return 0.0;
}

}  // namespace conclave::moe
