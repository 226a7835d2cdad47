// What the avx2 kernels offer.
#include <stdint.h>

#include "kernels/cpu/table.h"

namespace conclave::avx2 {

constexpr char kIsa[] = "avx2";
#include "kernels/cpu/complete_table.inc"

}  // namespace conclave::avx2
