// What the avx512 kernels offer.
#include <stdint.h>

#include "kernels/cpu/table.h"

namespace conclave::avx512 {

constexpr char kIsa[] = "avx512";
#define CONCLAVE_NO_TILES  // those of avx2 serve
#include "kernels/cpu/complete_table.inc"

}  // namespace conclave::avx512
