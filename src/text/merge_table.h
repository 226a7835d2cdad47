#pragma once
// The merges of a BPE model: which two tokens become which one, and in which order of preference.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/vocabulary.h"

namespace conclave {

struct Merge {
  std::uint32_t rank = 0;  // lower is merged first
  Token merged = kNoToken;
};

class MergeTable {
 public:
  // Room for `count` merges.
  explicit MergeTable(std::size_t count = 0);
  // A pair given again takes the place of the earlier one, as the tokenizers library has it.
  void add(Token left, Token right, Merge);
  // nullptr when the two do not merge.
  const Merge* find(Token left, Token right) const;

 private:
  struct Slot {
    std::uint64_t pair = kFree;
    Merge merge;
  };
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // no pair of tokens: both would be -1

  static std::uint64_t key(Token left, Token right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t probe(std::uint64_t pair) const;

  std::vector<Slot> slots_;  // open addressing; the size is a power of two, at least twice the number of merges
  int shift_ = 0;
};

}  // namespace conclave
