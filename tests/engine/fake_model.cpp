#include "tests/engine/fake_model.h"

#include <algorithm>
#include <utility>

#include "io/json.h"

namespace conclave::testing {
namespace {

std::uint64_t mix(std::uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

void fake_logits(std::span<const std::int32_t> tokens, std::span<float> out) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u;
  for (std::int32_t t : tokens) hash = mix(hash + static_cast<std::uint64_t>(t) + 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(mix(hash + (i + 1) * 0x9E3779B97F4A7C15u) >> 40) * 0x1p-24f * 12.0f - 6.0f;
  }
}

FakeModel::FakeModel(std::int32_t vocab, FakeLogits logits) : logits_(std::move(logits)) {
  config_.architecture = "FakeForCausalLM";
  config_.model_type = "fake";
  config_.layers = kLayers;
  config_.hidden = 8;
  config_.vocab = vocab;
  config_.max_positions = 4096;
  config_.generation = std::make_shared<const Json>(Json::object());
  history_.reserve(4096);
}

KvSpec FakeModel::kv_spec() const {
  KvSpec spec;
  spec.layers = kLayers;
  spec.kv_heads = 1;
  spec.head_dim = 2;
  spec.page_tokens = kPageTokens;
  return spec;
}

void FakeModel::forward(const Batch& batch, KvCache& cache, const Forward&, TensorView logits) const noexcept {
  if (before_step) before_step();
  most_rows = std::max(most_rows, static_cast<std::int64_t>(batch.tokens.size()));
  bool answers = false, prompts = false;
  std::int32_t next_row = 0;
  for (const SequenceRows& s : batch.sequences) {
    CONCLAVE_CHECK(s.first_row == next_row && s.rows > 0 && s.rows <= s.context);
    check_slot(s, batch);
    next_row += s.rows;
    (s.rows == 1 ? answers : prompts) = true;
    write_rows(batch, s, cache);
  }
  CONCLAVE_CHECK(next_row == static_cast<std::int32_t>(batch.tokens.size()) && batch.positions.size() == batch.tokens.size());
  mixed_steps += answers && prompts ? 1 : 0;

  std::int64_t out = 0;
  for (const SequenceRows& s : batch.sequences) {
    for (; out < static_cast<std::int64_t>(batch.logits_rows.size()); ++out) {
      const std::int32_t row = batch.logits_rows[static_cast<std::size_t>(out)];
      if (row >= s.first_row + s.rows) break;
      CONCLAVE_CHECK(row >= s.first_row);
      read_history(s, batch.positions[static_cast<std::size_t>(row)] + 1, cache);
      logits_(history_, {logits.row<float>(out), static_cast<std::size_t>(config_.vocab)});
    }
  }
  CONCLAVE_CHECK(out == static_cast<std::int64_t>(batch.logits_rows.size()) && logits.shape[0] == out);
}

// A slot has one owner from the sequence's first rows to its last, preemptions apart.
void FakeModel::check_slot(const SequenceRows& s, const Batch& batch) const noexcept {
  CONCLAVE_CHECK(s.slot >= 0 && s.slot < static_cast<std::int32_t>(slot_contexts_.size()));
  for (const SequenceRows& other : batch.sequences) CONCLAVE_CHECK(&other == &s || other.slot != s.slot);
  std::int32_t& context = slot_contexts_[static_cast<std::size_t>(s.slot)];
  CONCLAVE_CHECK(s.begins() || context == s.context - s.rows);
  context = s.context;
}

void FakeModel::write_rows(const Batch& batch, const SequenceRows& s, KvCache& cache) const noexcept {
  CONCLAVE_CHECK(static_cast<std::int32_t>(s.pages.size()) * kPageTokens >= s.context);
  for (std::int32_t i = 0; i < s.rows; ++i) {
    const auto row = static_cast<std::size_t>(s.first_row + i);
    const std::int32_t position = batch.positions[row];
    CONCLAVE_CHECK(position == s.context - s.rows + i);
    const std::int32_t page = s.pages[static_cast<std::size_t>(position / kPageTokens)];
    CONCLAVE_CHECK(page >= 0 && page < cache.pages());
    for (std::int32_t layer = 0; layer < kLayers; ++layer) {
      const PagedKv kv = cache.layer(layer);
      const std::int64_t at = std::int64_t{page} * kPageTokens * 2 + (position % kPageTokens) * 2;
      kv.k.as<float>()[at] = static_cast<float>(batch.tokens[row]);
      kv.v.as<float>()[at + 1] = static_cast<float>(position + layer);
    }
  }
}

void FakeModel::read_history(const SequenceRows& s, std::int32_t tokens, KvCache& cache) const noexcept {
  history_.clear();
  for (std::int32_t position = 0; position < tokens; ++position) {
    const std::int32_t page = s.pages[static_cast<std::size_t>(position / kPageTokens)];
    const std::int64_t at = std::int64_t{page} * kPageTokens * 2 + (position % kPageTokens) * 2;
    for (std::int32_t layer = 0; layer < kLayers; ++layer) {
      const PagedKv kv = cache.layer(layer);
      const auto token = static_cast<std::int32_t>(kv.k.as<float>()[at]);
      if (layer == 0) history_.push_back(token);
      // A wrong position or layers that differ: something else has been written here. Make the token differ as well.
      if (token != history_.back() || kv.v.as<float>()[at + 1] != static_cast<float>(position + layer)) history_.back() = -1;
    }
  }
}

}  // namespace conclave::testing
