#pragma once
// A linear map of a plan: its format, its shape and what it would take of the workspace. It holds no weights and is never run.
#include <memory>

#include "ops/ops.h"

namespace conclave {

// `ops` must outlive it.
std::unique_ptr<Linear> planned_linear(const QuantScheme&, std::int64_t rows, std::int64_t cols, const Ops& ops);

}  // namespace conclave
