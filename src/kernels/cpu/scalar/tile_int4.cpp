// INT4: codes 0..15 around a zero point, with a float32 scale for a group of columns, in tiles.
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/scalar/tiles.inc"

struct Format {
  static constexpr float kUnit = 1.0f;
  static int value(int nibble, int zero) { return nibble - zero; }
  static float scale(const uint8_t* scales, int64_t index) { return load_float(scales, index); }
};
}  // namespace

void tile_int4(const TileArgs* a) noexcept { multiply<Format>(*a); }

}  // namespace conclave::scalar
