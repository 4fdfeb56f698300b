#include <gtest/gtest.h>
#include <stoker/ops.h>

#include "graph/graph.h"

namespace stoker {

TEST(Conv2D, GivesTheShapeOfItsOutput) {
  Graph graph;
  Value x = graph.input("x", {DType::float32, {32, 28, 28, 1}});
  Value y = ops::conv2d(x, Tensor::zeros({3, 3, 1, 64}));
  EXPECT_EQ(y.shape(), Shape({32, 26, 26, 64}));
}

}  // namespace stoker
