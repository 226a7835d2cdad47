// The element-wise kernels.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::avx2 {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/avx2/vec.inc"
#include "kernels/cpu/numbers.inc"
}  // namespace

#include "kernels/cpu/int_blocks.inc"
#include "kernels/cpu/vector/elementwise.inc"

}  // namespace conclave::avx2
