#pragma once
// A matrix of 4-bit codes in the tiles that the integer kernels read (kernels/cpu/table.h), made once at load.
#include <cstddef>

#include "device/buffer.h"
#include "kernels/cpu/table.h"
#include "quant/matrix.h"

namespace conclave {

// Every value survives packing exactly, and the published matrix is not looked at afterwards.
class TiledMatrix {
 public:
  // Whether the constructor takes matrices of this scheme with so many columns.
  static bool supports(const QuantScheme&, std::int64_t cols) noexcept;

  TiledMatrix() = default;
  // Throws Error{out_of_memory}, and Error{corrupt} for a block scale that is negative or no number: the kernels read scales as
  // magnitudes. An unsupported scheme is our bug.
  explicit TiledMatrix(const QuantMatrix&);

  const TileMatrix& matrix() const noexcept { return matrix_; }
  TileFormat format() const noexcept { return format_; }  // the kernel for matrix()

 private:
  TileMatrix matrix_{};
  TileFormat format_ = kTileNvfp4;
  Buffer codes_, scales_, zeros_;
};

}  // namespace conclave
