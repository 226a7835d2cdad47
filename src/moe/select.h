#pragma once
// Which backend runs a problem, and why not the others.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/backend.h"

namespace conclave::moe {

// The one default, in the one place. "auto": the cheapest that can; "latency", "throughput": the cheapest of that intent, then
// "general"; a backend's name: that one or an error with all of its reasons, never a silent other.
inline constexpr std::string_view kDefaultBackend = "auto";

struct Candidate {
  const MoeBackend* backend = nullptr;
  Support support;
  double cost_decode = 0, cost_prefill = 0;  // microseconds expected for 1 and for max_tokens tokens
};

struct Selection {
  const MoeBackend* chosen = nullptr;  // null: nothing can (explain() says why)
  std::string wanted;
  std::vector<Candidate> considered;   // all of them, in registration order, the refused ones included
  std::string explain() const;         // a line per candidate, '*' before the chosen one
};

// Throws Error{bad_input} naming the nearest valid name when `wanted` is neither an intent nor a backend. '-' equals '_', case
// does not matter. The reference backend is chosen only by name, or when nothing else can and the problem is tiny enough for it.
Selection select_backend(const MoeProblem&, const DeviceCaps&, std::span<const MoeBackend* const>, std::string_view wanted = kDefaultBackend);

}  // namespace conclave::moe
