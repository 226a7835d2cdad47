#pragma once
// One sequence through a model, without engine or sampling: the logits of every position. What `logits` and the golden tests use.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "models/model.h"
#include "ops/ops.h"

namespace conclave {

class SingleSequence {
 public:
  // Room for max_context tokens in a cache of `kv_dtype`; append() takes at most max_rows at a time. Throws Error{out_of_memory}.
  SingleSequence(const Model&, Device&, const Ops&, std::int32_t max_context, std::int32_t max_rows, DType kv_dtype);

  // Runs the next tokens, ids in [0, vocab); returns their logits [tokens, vocab], valid until the next call.
  std::span<const float> append(std::span<const std::int32_t> tokens);
  std::int32_t length() const noexcept { return length_; }

 private:
  const Model& model_;
  const Ops& ops_;
  std::unique_ptr<Stream> stream_;
  KvCache cache_;
  Workspace workspace_;
  std::vector<std::int32_t> pages_;
  std::vector<float> logits_;
  std::int32_t max_rows_, length_ = 0;
};

// Index of the largest value, the lowest among equals, and how far the second largest is below it.
struct Argmax {
  std::int32_t id = 0;
  float margin = 0.0f;
};
Argmax argmax(std::span<const float> logits);

}  // namespace conclave
