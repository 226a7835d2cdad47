#pragma once
// Slots (token, choice) brought together by expert: a stable counting sort, so that results never depend on chance.
#include <cstdint>
#include <span>

namespace conclave::moe {

// What group_by_expert() fills; all memory is the caller's.
struct Grouping {
  std::span<std::int32_t> begin;     // [experts + 1]: slots of expert e are sorted positions [begin[e], begin[e + 1])
  std::span<std::int32_t> token_of;  // [slots]: token of a sorted position; the first begin[experts] are set
  std::span<std::int32_t> row_of;    // [slots]: sorted position of a slot, -1 for an id outside of [0, experts)
  std::span<std::int32_t> active;    // [min(experts, slots)]: experts with slots, in order; the first `active_count` are set
  std::int64_t active_count = 0;
};

inline void group_by_expert(std::span<const std::int32_t> ids, std::int32_t top_k, Grouping& g) {
  const auto experts = static_cast<std::uint32_t>(g.begin.size() - 1);
  const auto valid = [&](std::int32_t id) { return static_cast<std::uint32_t>(id) < experts; };  // negative ones become huge
  for (std::int32_t& n : g.begin) n = 0;
  for (const std::int32_t id : ids)
    if (valid(id)) ++g.begin[static_cast<std::size_t>(id)];

  std::int32_t total = 0;
  g.active_count = 0;
  for (std::uint32_t e = 0; e < experts; ++e) {
    const std::int32_t count = g.begin[e];
    if (count > 0) g.active[static_cast<std::size_t>(g.active_count++)] = static_cast<std::int32_t>(e);
    g.begin[e] = total;
    total += count;
  }
  g.begin[experts] = total;

  // begin[e] serves as the next free position of e, and ends as the beginning of e + 1.
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    g.row_of[slot] = -1;
    if (!valid(ids[slot])) continue;
    const std::int32_t position = g.begin[static_cast<std::size_t>(ids[slot])]++;
    g.row_of[slot] = position;
    g.token_of[static_cast<std::size_t>(position)] = static_cast<std::int32_t>(slot) / top_k;
  }
  for (std::uint32_t e = experts; e > 0; --e) g.begin[e] = g.begin[e - 1];
  g.begin[0] = 0;
}

}  // namespace conclave::moe
