#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

template <class T>
void expect_type(std::string_view name) {
  EXPECT_EQ(to_string(DTypeOf<T>::value), name);
  EXPECT_EQ(size_of(DTypeOf<T>::value), static_cast<int>(sizeof(T))) << name;
}

TEST(DType, NamesAndSizesFollowTheCppTypes) {
  expect_type<float>("f32");
  expect_type<double>("f64");
  expect_type<bf16>("bf16");
  expect_type<f16>("f16");
  expect_type<f8e4m3>("f8e4m3");
  expect_type<f8e5m2>("f8e5m2");
  expect_type<f8e8m0>("f8e8m0");
  expect_type<std::int8_t>("i8");
  expect_type<std::uint8_t>("u8");
  expect_type<std::int32_t>("i32");
  expect_type<std::uint32_t>("u32");
  expect_type<std::int64_t>("i64");
}

TEST(DType, TypesWithoutACppTypeOfOurs) {
  EXPECT_EQ(to_string(DType::i16), "i16");
  EXPECT_EQ(to_string(DType::u16), "u16");
  EXPECT_EQ(to_string(DType::u64), "u64");
  EXPECT_EQ(to_string(DType::boolean), "bool");
  EXPECT_EQ(size_of(DType::i16), 2);
  EXPECT_EQ(size_of(DType::u16), 2);
  EXPECT_EQ(size_of(DType::u64), 8);
  EXPECT_EQ(size_of(DType::boolean), 1);
}

}  // namespace
}  // namespace conclave
