#pragma once
// The rows of one step: some tokens of some sequences, prefill and decode mixed.
#include <cstdint>
#include <span>

namespace conclave {

// Rows [first_row, first_row + rows) are the tokens at positions [context - rows, context) of one sequence.
struct SequenceRows {
  std::int32_t first_row = 0;
  std::int32_t rows = 0;
  std::int32_t context = 0;             // tokens in the cache once these rows are written
  std::span<const std::int32_t> pages;  // page ids of the sequence, in order; ceil(context / page_tokens) of them are used
  std::int32_t slot = 0;                // which recurrent state of the cache is the sequence's, where layers have one

  // Nothing came before these rows: whatever the slot holds is someone else's.
  bool begins() const noexcept { return rows == context; }
};

struct Batch {
  std::span<const std::int32_t> tokens;       // [T]
  std::span<const std::int32_t> positions;    // [T]
  std::span<const SequenceRows> sequences;    // cover the rows without gap or overlap, in order
  std::span<const std::int32_t> logits_rows;  // rows whose logits are wanted, ascending
};

}  // namespace conclave
