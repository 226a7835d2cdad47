// The register of backends: backends.inc is made from backends.def when the build is configured.
#include "moe/backend.h"
#include "moe/backends/backends.inc"

namespace conclave::moe {

std::span<const MoeBackend* const> builtin_backends() { return listed_backends(); }

}  // namespace conclave::moe
