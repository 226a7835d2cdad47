#pragma once
// Element types of tensors in memory and on disk.
#include <cstdint>
#include <string_view>

#include "base/bf16.h"
#include "base/f16.h"
#include "base/fp8.h"

namespace conclave {

enum class DType : std::uint8_t { f32, f16, bf16, f8e4m3, f8e5m2, f8e8m0, i8, u8, i16, u16, i32, u32, i64, u64, f64, boolean };

constexpr int size_of(DType t) {
  constexpr int kSizes[] = {4, 2, 2, 1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 1};
  return kSizes[static_cast<int>(t)];
}

constexpr std::string_view to_string(DType t) {
  constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "f8e4m3", "f8e5m2", "f8e8m0", "i8",  "u8",
                                         "i16", "u16", "i32",  "u32",    "i64",    "u64",    "f64", "bool"};
  return kNames[static_cast<int>(t)];
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<f8e4m3> {
  static constexpr DType value = DType::f8e4m3;
};
template <>
struct DTypeOf<f8e5m2> {
  static constexpr DType value = DType::f8e5m2;
};
template <>
struct DTypeOf<f8e8m0> {
  static constexpr DType value = DType::f8e8m0;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};

}  // namespace conclave
