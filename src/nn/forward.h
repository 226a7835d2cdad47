#pragma once
// What every layer needs to run: where it computes, in which order, and where its temporaries lie.
#include "device/stream.h"
#include "device/workspace.h"
#include "ops/ops.h"

namespace conclave {

struct Forward {
  const Ops& ops;
  Stream& stream;
  Workspace& workspace;
};

}  // namespace conclave
