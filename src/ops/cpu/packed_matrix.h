#pragma once
// A weight matrix in the form the CPU kernels read (kernels/cpu/table.h), made once at load from the published views.
#include <cstddef>
#include <string>

#include "device/buffer.h"
#include "kernels/cpu/table.h"
#include "quant/matrix.h"

namespace conclave {

// Every value survives packing exactly. What already lies as the kernels want it (contiguous, aligned rows) is used in place, so
// the memory under the QuantMatrix must outlive the packed one; the rest is copied:
//   f32, bf16             in place or copied
//   f16                   decoded; kept as bf16 when every value fits, as f32 otherwise
//   f8e4m3                codes in place or copied, scales as float32
//   nvfp4, mxfp4          codes and scales in place or copied
//   int4                  nibbles in place or copied, scales and zero points as float32
class PackedMatrix {
 public:
  // Whether the constructor takes matrices of this scheme.
  static bool supports(const QuantScheme&) noexcept;

  PackedMatrix() = default;
  // Throws Error{out_of_memory}. An unsupported scheme or views of another shape than the scheme's are our bug.
  explicit PackedMatrix(const QuantMatrix&);

  const KernelMatrix& matrix() const noexcept { return matrix_; }
  GemmFormat format() const noexcept { return format_; }  // the kernel for matrix()
  std::size_t owned_bytes() const noexcept { return codes_.size() + scales_.size() + zeros_.size(); }
  // Whether matrix() looks at the published codes.
  bool in_place() const noexcept { return matrix_.codes != nullptr && codes_.size() == 0; }
  // "nvfp4 in place", "f16 decoded to f32".
  const std::string& describe() const noexcept { return words_; }

 private:
  KernelMatrix matrix_{};
  GemmFormat format_ = kGemmF32;
  Buffer codes_, scales_, zeros_;  // empty where used in place
  std::string words_;
};

}  // namespace conclave
