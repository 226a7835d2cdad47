#pragma once
// A checkpoint without its values: names, types and shapes as its headers give them. For plans, which are quick on any model then.
#include <memory>

#include "checkpoint/checkpoint.h"

namespace conclave {

// Looks at `all`, which must outlive it.
std::unique_ptr<Checkpoint> headers_only(const Checkpoint& all);

}  // namespace conclave
