#pragma once
// A model whose next token is a function of every token before it, read back from the pages of the cache: a row that was
// scheduled twice or not at all, or a page that two sequences share, shows as a wrong token. fake_logits() is the same
// function without a cache.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "models/model.h"

namespace conclave::testing {

// Of the token after `tokens`; out [vocab].
using FakeLogits = std::function<void(std::span<const std::int32_t> tokens, std::span<float> out)>;

// Spread over [-6, 6); any change of any token changes all of them.
void fake_logits(std::span<const std::int32_t> tokens, std::span<float> out);

class FakeModel final : public Model {
 public:
  static constexpr std::int32_t kLayers = 2, kPageTokens = 4;

  explicit FakeModel(std::int32_t vocab, FakeLogits logits = fake_logits);

  ModelConfig& config() noexcept { return config_; }
  const ModelConfig& config() const noexcept override { return config_; }
  const ModelReport& report() const noexcept override { return report_; }
  KvSpec kv_spec() const override;
  std::size_t workspace_bytes(std::int64_t, std::int64_t, std::int64_t) const override { return 64; }
  void forward(const Batch&, KvCache&, const Forward&, TensorView logits) const noexcept override;

  // Most rows seen in one step, and how many steps had rows of a prompt and of an answer.
  mutable std::int64_t most_rows = 0, mixed_steps = 0;
  // When set, called at the beginning of every step.
  std::function<void()> before_step;

 private:
  void check_slot(const SequenceRows&, const Batch&) const noexcept;
  void write_rows(const Batch&, const SequenceRows&, KvCache&) const noexcept;
  void read_history(const SequenceRows&, std::int32_t tokens, KvCache&) const noexcept;

  ModelConfig config_;
  ModelReport report_;
  FakeLogits logits_;
  mutable std::vector<std::int32_t> history_;
  mutable std::array<std::int32_t, 64> slot_contexts_{};  // tokens that the last owner of each slot had computed
};

}  // namespace conclave::testing
