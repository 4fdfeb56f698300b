#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

void square(const Tensor& x, Tensor& y) {
  float* out = y.data_mut<float>();
  for (int64_t i = 0; i < x.elements(); ++i) out[i] = x.data<float>()[i] * x.data<float>()[i];
}

void square_backward(const Tensor& x, const Tensor&, const Tensor& dy, Tensor& dx) {
  float* out = dx.data_mut<float>();
  for (int64_t i = 0; i < x.elements(); ++i) out[i] = 2 * x.data<float>()[i] * dy.data<float>()[i];
}

TEST(HostLayer, RunsForwardAndBackwardOnTheHost) {
  for (const std::string& device : devices()) {
    Layer squared = HostLayer(square, square_backward, {.name = "squared"});
    std::vector<Tensor> found = run({floats({1, -2, 3}, {1, 3})},
                                    [&](Graph&, const Values& x) {
                                      Value y = squared(x[0] * 2.0);
                                      return Values{y, gradients(ops::sum(y), Values{x[0]})[0]};
                                    },
                                    {.device = device});
    EXPECT_TRUE(near(found[0], {4, 16, 36})) << device;
    EXPECT_TRUE(near(found[1], {8, -16, 24})) << device;
  }
}

TEST(HostLayer, WithoutBackwardStopsTheGradient) {
  Layer squared = HostLayer(square);
  Tensor gradient = run({floats({1, -2}, {1, 2})}, [&](Graph&, const Values& x) {
    return gradients(ops::sum(squared(x[0]) + x[0]), Values{x[0]});
  })[0];
  EXPECT_TRUE(near(gradient, {1, 1}));
}

TEST(HostLayer, MayChangeTheShape) {
  Layer pairs = HostLayer(
      [](const Tensor& x, Tensor& y) {
        float* out = y.data_mut<float>();
        for (int64_t i = 0; i < y.elements(); ++i)
          out[i] = x.data<float>()[2 * i] + x.data<float>()[2 * i + 1];
      },
      {}, {.output_shape = [](const Shape& input) { return input.with(-1, input[-1] / 2); }});
  EXPECT_EQ(pairs(Input({6})).shape(), Shape({-1, 3}));
  EXPECT_TRUE(near(run_layer(pairs, floats({1, 2, 3, 4}, {1, 4})), {3, 7}));
}

TEST(HostLayer, ThatReplacesItsOutputIsToldSo) {
  Layer wrong = HostLayer([](const Tensor& x, Tensor& y) { y = x; }, {}, {.name = "slow"});
  EXPECT_EQ(message_of<Error>([&] {
              run_layer(wrong, floats({1}, {1, 1}));
            }),
            "HostLayer \"slow\": its function replaced the tensor that it was given to fill; write "
            "through data_mut() instead");
}

}  // namespace
}  // namespace stoker::test
