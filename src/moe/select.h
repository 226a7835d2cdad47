#pragma once
// Which backend runs a problem, and why not the others.
#include <cstdint>
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
  std::string wanted;                  // as it was understood: lower case, '_'
  std::vector<Candidate> considered;   // all of them, in registration order, the refused ones included
  std::int64_t prefill_tokens = 0;     // what cost_prefill is for: problem.max_tokens
  std::string explain() const;         // a line per candidate, '*' before the chosen one

  // The chosen one. Throws Error{unsupported} with explain() when there is none; both arguments are for its words.
  const MoeBackend& chosen_for(const MoeProblem&, const DeviceCaps&) const;

  // The chosen one failed after all (a wrong result, say): the reason is recorded and the choice made again by the same rules,
  // so a backend that was named becomes an error.
  void refuse_chosen(Why, std::string words);
};

// `wanted` as it is understood: '-' equals '_', case does not matter. Throws Error{bad_input} naming the nearest valid name when it
// is neither an intent nor a backend.
std::string checked_name(std::string_view wanted, std::span<const MoeBackend* const>);

// Throws what checked_name() does. A named backend that cannot is Error{unsupported}. The reference backend is chosen only by name, or when nothing
// else can and the problem is tiny enough for it. Pure: caps may be those of a machine that is not there.
Selection select_backend(const MoeProblem&, const DeviceCaps&, std::span<const MoeBackend* const>,
                         std::string_view wanted = kDefaultBackend);

}  // namespace conclave::moe
