#pragma once
// Extents of a tensor, at most four of them; rank 0 is a scalar.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"

namespace conclave {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) {
    for (std::int64_t d : dims) push_back(d);
  }

  constexpr void push_back(std::int64_t extent) {
    CONCLAVE_CHECK(rank_ < kMaxRank);
    dims_[static_cast<std::size_t>(rank_++)] = extent;
  }
  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }

  // The number of elements; the caller has made sure that it fits (checkpoints are checked when opened).
  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[static_cast<std::size_t>(i)];
    return n;
  }
  constexpr bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// "[2, 3]"
inline std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (int i = 0; i < shape.rank(); ++i) out += (i != 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

}  // namespace conclave
