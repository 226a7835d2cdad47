#pragma once
// The rows of one step as the model wants them. Memory is taken once.
#include <cstdint>
#include <vector>

#include "engine/limits.h"
#include "engine/sequence.h"
#include "ops/batch.h"

namespace conclave {

// What one sequence does in a step.
struct Scheduled {
  Sequence* sequence = nullptr;
  std::int32_t rows = 0;
  std::int32_t new_pages = 0;
  std::int32_t first_logits = 0;  // the first of its rows of logits; they belong to its last `logits` rows
  std::int32_t logits = 0;
};

class BatchBuilder {
 public:
  explicit BatchBuilder(const StepLimits&);

  // The pages must have been taken. Fills in where the logits will be. The result is valid until the next call.
  Batch build(std::vector<Scheduled>&) noexcept;

 private:
  void add(Scheduled&) noexcept;

  std::vector<std::int32_t> tokens_, positions_, logits_rows_;
  std::vector<SequenceRows> sequences_;
};

}  // namespace conclave
