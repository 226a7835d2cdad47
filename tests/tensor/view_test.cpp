#include "tensor/view.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <span>

namespace conclave {
namespace {

class View : public testing::Test {
 protected:
  View() { std::iota(values_.begin(), values_.end(), 0.0f); }
  TensorView view(Shape shape) { return {std::as_writable_bytes(std::span(values_)).data(), DType::f32, shape}; }
  std::array<float, 24> values_;
};

TEST_F(View, ContiguousRowMajorStrides) {
  const TensorView cube = view({2, 3, 4});
  EXPECT_EQ(cube.stride[0], 12);
  EXPECT_EQ(cube.stride[1], 4);
  EXPECT_EQ(cube.stride[2], 1);
  EXPECT_TRUE(cube.contiguous());
  EXPECT_EQ(cube.bytes(), 96);
  EXPECT_FALSE(cube.on_device);
}

TEST_F(View, RowsAndElements) {
  const TensorView matrix = view({6, 4});
  EXPECT_EQ(matrix.row<float>(2)[1], 9.0f);
  matrix.row<float>(5)[3] = -1.0f;
  EXPECT_EQ(values_[23], -1.0f);
  const TensorView middle = matrix.rows(2, 3);
  EXPECT_EQ(middle.shape, (Shape{3, 4}));
  EXPECT_EQ(middle.as<float>()[0], 8.0f);
  EXPECT_TRUE(middle.contiguous());
  EXPECT_EQ(matrix.rows(6, 0).shape.elements(), 0);
  const TensorView plane = view({2, 3, 4}).rows(1, 1);
  EXPECT_EQ(plane.shape, (Shape{1, 3, 4}));
  EXPECT_EQ(plane.as<float>()[0], 12.0f);
}

TEST_F(View, StridedViewsAreNotContiguous) {
  TensorView columns = view({6, 4});
  columns.shape = {6, 2};
  EXPECT_FALSE(columns.contiguous());
  EXPECT_EQ(columns.row<float>(1)[0], 4.0f);
  TensorView one_row = columns;
  one_row.shape = {1, 2};
  EXPECT_TRUE(one_row.contiguous());  // the stride of a single row is never used
}

TEST_F(View, ReadOnlyViewOfAWritableOne) {
  const ConstTensorView read = view({24});
  static_assert(std::is_same_v<decltype(read.as<float>()), const float*>);
  static_assert(!std::is_convertible_v<ConstTensorView, TensorView>);
  EXPECT_EQ(read.as<float>()[7], 7.0f);
  EXPECT_TRUE(read);
  EXPECT_FALSE(ConstTensorView());
}

using ViewDeathTest = View;
TEST_F(ViewDeathTest, WrongTypeIsOurBug) { EXPECT_DEATH(view({24}).as<bf16>(), "f32"); }

}  // namespace
}  // namespace conclave
