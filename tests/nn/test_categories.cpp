// CategoryEncoding and Discretization. Expected values are Keras 3.15's.
#include <stoker/category_layers.h>

#include "nn/running.h"

namespace stoker::test {
namespace {

Tensor ids(const std::vector<int32_t>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}

TEST(CategoryEncoding, EncodesAsKeras) {
  Tensor two = ids({0, 2, 1, 1}, {2, 2});
  for (const std::string& device : devices()) {
    RunOptions on{.device = device};
    EXPECT_TRUE(near(run_layer(CategoryEncoding(3), two, on), {1, 0, 1, 0, 1, 0})) << device;
    EXPECT_TRUE(
        near(run_layer(CategoryEncoding(3, {.output_mode = "count"}), two, on), {1, 0, 1, 0, 2, 0}))
        << device;
    Tensor rows = run_layer(CategoryEncoding(3, {.output_mode = "one_hot"}), two, on);
    EXPECT_EQ(rows.shape(), Shape({2, 2, 3}));
    EXPECT_TRUE(near(rows, {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0})) << device;
    Tensor column = ids({2, 0}, {2, 1});
    EXPECT_TRUE(near(run_layer(CategoryEncoding(3, {.output_mode = "one_hot"}), column, on),
                     {0, 0, 1, 1, 0, 0}))
        << device;
  }
}

TEST(CategoryEncoding, CountsWithWeights) {
  Layer layer = CategoryEncoding(3, {.output_mode = "count"});
  std::vector<Tensor> made = run({ids({0, 2, 1, 1}, {2, 2}), floats({0.5, 2, 1, 0.25}, {2, 2})},
                                 [&](Graph&, const Values& in) { return Values{layer(in)}; });
  EXPECT_TRUE(near(made[0], {0.5, 0, 2, 0, 1.25, 0}));
}

TEST(CategoryEncoding, TakesWholeNumbersOnly) {
  EXPECT_NE(message_of<ShapeError>([] {
              run_layer(CategoryEncoding(3), floats({1}, {1, 1}));
            }).find("expected whole numbers, got float32[1, 1]"),
            std::string::npos);
}

TEST(Discretization, FindsTheBinOfANumber) {
  Tensor x = floats({-1.5, 1.0, 3.4, 0.5, 0.0, 3.0}, {2, 3});
  for (const std::string& device : devices()) {
    Layer layer = Discretization({.bin_boundaries = {0, 1, 2, 3}});
    Tensor bins = run_layer(layer, x, {.device = device});
    EXPECT_EQ(bins.dtype(), DType::int32);
    EXPECT_TRUE(near(bins, {0, 2, 4, 1, 1, 4})) << device;
  }
}

// keras.layers.Discretization(num_bins=4, epsilon=0.1).adapt([0, 1, …, 19])
TEST(Discretization, AdaptsToQuantiles) {
  Discretization layer({.num_bins = 4, .epsilon = 0.1});
  EXPECT_NE(message_of<ShapeError>([&] {
              run_layer(layer, floats({1}, {1, 1}));
            }).find("adapt"),
            std::string::npos);
  std::vector<float> values(20);
  for (size_t i = 0; i < 20; ++i) values[i] = float(19 - i);
  layer.adapt(floats(values, {20}));
  std::vector<double> boundaries = layer.bin_boundaries();
  ASSERT_EQ(boundaries.size(), 3U);
  EXPECT_NEAR(boundaries[0], 3.999999761581421, 1e-5);
  EXPECT_NEAR(boundaries[1], 9.0, 1e-5);
  EXPECT_NEAR(boundaries[2], 13.999999046325684, 1e-5);
}

// num_bins=3, of the squares of 0 … 999
TEST(Discretization, AdaptsToManyNumbers) {
  Discretization layer({.num_bins = 3});
  std::vector<float> squares(1000);
  for (size_t i = 0; i < 1000; ++i) squares[i] = float(i * i);
  layer.adapt(floats(squares, {1000}));
  ASSERT_EQ(layer.bin_boundaries().size(), 2U);
  EXPECT_NEAR(layer.bin_boundaries()[0], 110467.53125, 1);
  EXPECT_NEAR(layer.bin_boundaries()[1], 443134.1875, 1);
}

}  // namespace
}  // namespace stoker::test
