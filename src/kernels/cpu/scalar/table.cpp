// What the scalar kernels offer.
#include <stdint.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {

constexpr char kIsa[] = "scalar";
#include "kernels/cpu/complete_table.inc"

}  // namespace conclave::scalar
