// StochasticDepth, LayerScale, CustomScaleLayer.
#include <stoker/residual_layers.h>

#include "nn/running.h"

namespace stoker::test {
namespace {

TEST(StochasticDepth, DropsWholeSamples) {
  Tensor x = Tensor::full({200, 3, 2}, 1);
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    Tensor y = run_layer(StochasticDepth(0.25), x, {.training = true, .device = device});
    int kept = 0;
    for (int64_t row = 0; row < 200; ++row) {
      double first = y[row].at(0);
      EXPECT_TRUE(first == 0 || std::abs(first - 1 / 0.75) < 1e-6) << first;
      EXPECT_EQ(y[row], Tensor::full({3, 2}, first));
      kept += first != 0 ? 1 : 0;
    }
    EXPECT_NEAR(kept, 150, 25);
  }
}

TEST(StochasticDepth, KeepsAllInInference) {
  Tensor x = random_tensor({4, 3});
  EXPECT_EQ(run_layer(StochasticDepth(0.9), x), x);
  EXPECT_EQ(run_layer(StochasticDepth(0), x, {.training = true}), x);
  EXPECT_THROW(StochasticDepth(1), ValueError);
  EXPECT_THROW(StochasticDepth(-0.1), ValueError);
}

TEST(LayerScale, MultipliesByOneNumberPerChannel) {
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    Layer layer = LayerScale({.initializer = Constant(0.5)});
    Tensor x = floats({1, 2, 3, 4}, {2, 2});
    EXPECT_TRUE(near(run_layer(layer, x, {.device = device}), {0.5, 1, 1.5, 2}));
    std::vector<Tensor> slopes =
        run({x},
            [&](Graph&, const Values& in) {
              Value loss = ops::sum(ops::square(layer(in[0])));
              return Values{gradients(loss, layer.weights())[0], gradients(loss, Values{in[0]})[0]};
            },
            {.training = true, .device = device});
    EXPECT_TRUE(near(slopes[0], {10, 20}));  // Σ 2 · 0.5 · x²
    EXPECT_TRUE(near(slopes[1], {0.5, 1, 1.5, 2}));
  }
}

TEST(CustomScaleLayer, AddsAScaledBranch) {
  Layer layer = CustomScaleLayer(0.5);
  auto call = [&](Graph&, const Values& in) { return layer.call_all(in); };
  EXPECT_TRUE(near(run({floats({1, 2}, {1, 2}), floats({4, 6}, {1, 2})}, call)[0], {3, 5}));
  EXPECT_THROW(run({floats({1}, {1, 1})}, call), ShapeError);
  EXPECT_THROW(run({floats({1}, {1, 1}), floats({1, 2}, {1, 2})}, call), ShapeError);
}

}  // namespace
}  // namespace stoker::test
