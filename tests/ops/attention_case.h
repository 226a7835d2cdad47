#pragma once
// Sequences in a paged cache with their pages in disorder, and the rows of one batch that look at them.
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "tests/ops/bench.h"

namespace conclave::test {

class AttentionCase {
 public:
  AttentionCase(const AttentionSpec& spec, DType dtype, std::int32_t page_tokens, unsigned seed);

  // The last `rows` of `context` tokens are in the batch. q [rows, heads, head_dim]; k, v [context, kv_heads, head_dim].
  void add(std::int32_t context, std::int32_t rows, std::vector<float> q, const std::vector<float>& k, const std::vector<float>& v);
  void add_random(std::int32_t context, std::int32_t rows);

  // Attention of the whole batch -> [T, heads, head_dim]. All keys and values are written by bench's own write_kv first.
  Tensor run(Bench& bench);
  // The same for row `row` of sequence `sequence` alone, as a decode step would see it.
  Tensor run_alone(Bench& bench, std::size_t sequence, std::int32_t row);
  // The cache after write_kv, byte by byte; its unused pages keep 0xff.
  std::vector<std::byte> written(Bench& bench);

  std::size_t sequences() const { return sequences_.size(); }
  std::int32_t rows(std::size_t sequence) const { return sequences_[sequence].rows; }
  std::int64_t first_row(std::size_t sequence) const;

 private:
  struct Sequence {
    std::int32_t context, rows;
    std::vector<float> q, k, v;
    std::vector<std::int32_t> pages;
  };
  PagedKv fill(Bench& bench, std::vector<std::byte>& memory);
  Tensor attend(Bench& bench, const PagedKv&, const std::vector<SequenceRows>&, const Tensor& q);

  AttentionSpec spec_;
  DType dtype_;
  std::int32_t page_tokens_;
  std::mt19937 random_;
  std::vector<std::int32_t> free_pages_;  // shuffled
  std::deque<Sequence> sequences_;
};

}  // namespace conclave::test
