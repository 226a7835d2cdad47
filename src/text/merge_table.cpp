#include "text/merge_table.h"

#include <bit>

namespace conclave {

MergeTable::MergeTable(std::size_t count) : slots_(std::bit_ceil(count * 2 + 2)) { shift_ = 64 - std::countr_zero(slots_.size()); }

// Fibonacci hashing: the product's top bits depend on all bits of the pair.
std::size_t MergeTable::probe(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  auto place = static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15ull) >> shift_);
  while (slots_[place].pair != kFree && slots_[place].pair != pair) place = (place + 1) & mask;
  return place;
}

void MergeTable::add(Token left, Token right, Merge merge) {
  const std::uint64_t pair = key(left, right);
  slots_[probe(pair)] = {pair, merge};
}

const Merge* MergeTable::find(Token left, Token right) const {
  const std::uint64_t pair = key(left, right);
  const Slot& slot = slots_[probe(pair)];
  return slot.pair == pair ? &slot.merge : nullptr;
}

}  // namespace conclave
