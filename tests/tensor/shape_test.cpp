#include "tensor/shape.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

TEST(Shape, ScalarHasOneElement) {
  constexpr Shape kScalar;
  EXPECT_EQ(kScalar.rank(), 0);
  EXPECT_EQ(kScalar.elements(), 1);
  EXPECT_EQ(to_string(kScalar), "[]");
}

TEST(Shape, ExtentsInOrder) {
  Shape shape{2, 3};
  shape.push_back(4);
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[2], 4);
  EXPECT_EQ(shape.elements(), 24);
  EXPECT_EQ(to_string(shape), "[2, 3, 4]");
  EXPECT_EQ((Shape{5, 0, 7}).elements(), 0);
}

TEST(Shape, EqualityIsOfRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  EXPECT_NE((Shape{}), (Shape{0}));
}

TEST(ShapeDeathTest, FourDimensionsAtMost) { EXPECT_DEATH((Shape{1, 2, 3, 4, 5}), "kMaxRank"); }

}  // namespace
}  // namespace conclave
