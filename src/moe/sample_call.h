#pragma once
// A call with inputs that are random to the eye and always the same: for verifying a kernel at load, for tests and benchmarks.
#include <cstdint>

#include "device/buffer.h"
#include "device/device.h"
#include "moe/backend.h"

namespace conclave::moe {

// Owns what its call() looks at; the same (problem, tokens, seed) gives the same inputs.
class SampleCall {
 public:
  // Every token prefers top_k local experts, different ones from token to token, by margins that no rounding turns over.
  SampleCall(const MoeProblem&, std::int64_t tokens, std::uint64_t seed, Device&);

  // hidden about N(0, 1); out holds NaN until a kernel has written it.
  const MoeCall& call() const { return call_; }
  TensorView out() const { return call_.out; }

 private:
  Buffer hidden_, logits_, bias_, out_;
  MoeCall call_;
};

// The value of element (row, column) of a view of f32, bf16 or f64 in host memory.
double value_at(const ConstTensorView&, std::int64_t row, std::int64_t column);

}  // namespace conclave::moe
