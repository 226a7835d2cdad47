// NVFP4: E2M1 codes with an E4M3 scale for every 16 columns, in tiles.
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/table.h"

namespace conclave::scalar {
#include "kernels/cpu/entries.inc"

namespace {
#include "kernels/cpu/numbers.inc"
#include "kernels/cpu/scalar/tiles.inc"

struct Format {
  static constexpr float kUnit = 0.5f;
  static int value(int nibble, int /*zero*/) { return e2m1_halves(nibble); }
  static float scale(const uint8_t* scales, int64_t index) { return e4m3_value(scales[index]); }
};
}  // namespace

void tile_nvfp4(const TileArgs* a) noexcept { multiply<Format>(*a); }

}  // namespace conclave::scalar
