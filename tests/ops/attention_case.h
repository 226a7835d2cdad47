#pragma once
// Sequences in a paged cache with their pages in disorder, and the rows of one batch that look at them. With a value_dim the cache
// is latent: values are the first dimensions of the keys and are not stored.
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "tests/ops/bench.h"

namespace conclave::test {

class AttentionCase {
 public:
  AttentionCase(const AttentionSpec& spec, DType dtype, std::int32_t page_tokens, unsigned seed);

  // The last `rows` of `context` tokens are in the batch. q [rows, heads, head_dim]; k, v [context, kv_heads, head_dim]; v is not
  // looked at when the cache is latent.
  void add(std::int32_t context, std::int32_t rows, std::vector<float> q, const std::vector<float>& k, const std::vector<float>& v);
  void add_random(std::int32_t context, std::int32_t rows);

  // All keys and values, written by bench's own write_kv. Unused pages keep 0xff, which is NaN in every type.
  struct Cache {
    std::vector<std::byte> memory;
    PagedKv kv;
  };
  Cache write(Bench& bench) const;

  // Attention of the whole batch, or of `count` sequences of it -> [T, heads, values].
  Tensor run(Bench& bench, const Cache& cache) const { return run(bench, cache, 0, sequences()); }
  Tensor run(Bench& bench, const Cache&, std::size_t first, std::size_t count) const;
  // The same for row `row` of sequence `sequence` alone, as a decode step would see it.
  Tensor run_alone(Bench& bench, const Cache&, std::size_t sequence, std::int32_t row) const;

  // Keys [first, first + count) of a sequence: as read_keys gives them, and as they were added.
  Tensor read_keys(Bench& bench, const Cache&, std::size_t sequence, std::int64_t first, std::int64_t count) const;
  std::vector<float> keys(std::size_t sequence, std::int64_t first, std::int64_t count) const;

  std::size_t sequences() const { return sequences_.size(); }
  std::int32_t rows(std::size_t sequence) const { return sequences_[sequence].rows; }
  std::int64_t first_row(std::size_t sequence) const;

 private:
  struct Sequence {
    std::int32_t context, rows;
    std::vector<float> q, k, v;
    std::vector<std::int32_t> pages;
  };
  Tensor attend(Bench& bench, const PagedKv&, const std::vector<SequenceRows>&, const Tensor& q) const;

  AttentionSpec spec_;
  DType dtype_;
  std::int32_t page_tokens_;
  std::mt19937 random_;
  std::vector<std::int32_t> free_pages_;  // shuffled
  std::deque<Sequence> sequences_;
};

}  // namespace conclave::test
