#pragma once
// All rows of a matrix, decoded.
#include <vector>

#include "quant/codec.h"

namespace conclave {

inline std::vector<float> decode_all(const QuantMatrix& matrix) {
  const Codec& codec = codec_for(matrix.scheme);
  std::vector<float> out(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    codec.decode_row(matrix, r,
                     std::span(out).subspan(static_cast<std::size_t>(r * matrix.cols), static_cast<std::size_t>(matrix.cols)));
  return out;
}

}  // namespace conclave
