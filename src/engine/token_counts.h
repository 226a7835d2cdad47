#pragma once
// Which tokens a sequence has seen and how often it generated them, for the penalties. Memory is taken once.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace conclave {

class TokenCounts {
 public:
  TokenCounts() = default;  // counts nothing: for sequences without penalties
  // At most `length` tokens will be counted.
  TokenCounts(std::int32_t vocab, std::int32_t length) : generated_(static_cast<std::size_t>(vocab), kUnseen) {
    seen_.reserve(static_cast<std::size_t>(std::min(vocab, length)));
  }

  bool enabled() const noexcept { return !generated_.empty(); }
  void add_prompt(std::int32_t id) noexcept { see(id); }
  void add_generated(std::int32_t id) noexcept {
    see(id);
    ++generated_[static_cast<std::size_t>(id)];
  }

  std::span<const std::int32_t> seen() const noexcept { return seen_; }  // distinct, in order of appearance
  std::int32_t generated(std::int32_t id) const noexcept { return generated_[static_cast<std::size_t>(id)]; }  // of a seen one

 private:
  static constexpr std::int32_t kUnseen = -1;
  void see(std::int32_t id) noexcept {
    std::int32_t& count = generated_[static_cast<std::size_t>(id)];
    if (count != kUnseen) return;
    count = 0;
    seen_.push_back(id);
  }

  std::vector<std::int32_t> generated_;  // per token of the vocabulary
  std::vector<std::int32_t> seen_;
};

}  // namespace conclave
