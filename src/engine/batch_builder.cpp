#include "engine/batch_builder.h"

namespace conclave {

BatchBuilder::BatchBuilder(const StepLimits& limits) {
  tokens_.reserve(static_cast<std::size_t>(limits.max_num_batched_tokens));
  positions_.reserve(static_cast<std::size_t>(limits.max_num_batched_tokens));
  logits_rows_.reserve(static_cast<std::size_t>(limits.max_logits_rows));
  sequences_.reserve(static_cast<std::size_t>(limits.max_num_seqs));
}

Batch BatchBuilder::build(std::vector<Scheduled>& work) noexcept {
  tokens_.clear();
  positions_.clear();
  logits_rows_.clear();
  sequences_.clear();
  for (Scheduled& w : work) add(w);
  return {tokens_, positions_, sequences_, logits_rows_};
}

void BatchBuilder::add(Scheduled& w) noexcept {
  const Sequence& s = *w.sequence;
  const auto first_row = static_cast<std::int32_t>(tokens_.size());
  for (std::int32_t p = s.cached; p < s.cached + w.rows; ++p) {
    tokens_.push_back(s.tokens[static_cast<std::size_t>(p)]);
    positions_.push_back(p);
  }
  sequences_.push_back({first_row, w.rows, s.cached + w.rows, s.pages, s.slot});
  const bool samples = s.cached + w.rows == s.known();
  w.first_logits = static_cast<std::int32_t>(logits_rows_.size());
  w.logits = s.scores_prompt() ? w.rows : samples ? 1 : 0;
  for (std::int32_t row = first_row + w.rows - w.logits; row < first_row + w.rows; ++row) logits_rows_.push_back(row);
}

}  // namespace conclave
