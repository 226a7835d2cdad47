#pragma once
// A decoder is a list of residual blocks, x += block(norm(x)): attention, MLP, experts and state-space mixers are all blocks, so an
// architecture is no more than the list of its blocks (nn/decoder.h).
#include <cstddef>
#include <cstdint>

#include "nn/forward.h"
#include "nn/kv_cache.h"
#include "ops/batch.h"

namespace conclave {

// One step of a model as its blocks see it.
struct Step {
  const Batch& batch;
  KvCache& cache;
  const Forward& forward;
};

class Block {
 public:
  virtual ~Block() = default;
  // Bytes of workspace that run() takes for a step of `tokens` rows whose longest context is `max_context`.
  virtual std::size_t workspace_bytes(const Ops&, std::int64_t tokens, std::int64_t max_context) const = 0;
  // x [T, H] -> out [T, H], overwritten.
  virtual void run(ConstTensorView x, const Step&, TensorView out) const noexcept = 0;
};

}  // namespace conclave
