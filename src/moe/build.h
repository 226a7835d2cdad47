#pragma once
// The whole decision for one layer: which backend, its kernel, and the proof that it computes what it should.
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "moe/backend.h"
#include "moe/select.h"
#include "moe/verify.h"

namespace conclave::moe {

struct BuiltMoe {
  std::unique_ptr<MoeKernel> kernel;
  Selection selection;                       // what ran, and why not the others
  std::optional<Verification> verification;  // empty when not asked for
};

// Selects, builds and, with `verify`, checks. A chosen backend that verifies wrong is refused: by an Error when it was named,
// else by the next candidate, said as a warning. Throws Error{unsupported} with all reasons when nothing can run the problem,
// and what build() throws.
BuiltMoe build_moe_kernel(const MoeProblem&, const ExpertWeights&, Device&, std::string_view wanted = kDefaultBackend,
                          bool verify = true, std::span<const MoeBackend* const> backends = builtin_backends());

}  // namespace conclave::moe
