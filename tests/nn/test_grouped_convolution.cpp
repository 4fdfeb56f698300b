// Conv2D with a group per channel is a depthwise convolution.
#include "nn/running.h"

namespace stoker::test {
namespace {

TEST(GroupedConvolution, WithAGroupPerChannelIsDepthwise) {
  Tensor x = random_tensor({2, 6, 5, 4}), kernel = random_tensor({3, 3, 1, 4}, 2);
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    Layer grouped = Conv2D(4, 3, {.strides = 2, .padding = "same", .groups = 4, .use_bias = false});
    Layer depthwise = DepthwiseConv2D(3, {.strides = 2, .padding = "same", .use_bias = false});
    grouped.base().ensure_built({x.shape()});
    depthwise.base().ensure_built({x.shape()});
    ASSERT_EQ(grouped.weights()[0].shape(), Shape({3, 3, 1, 4}));
    grouped.set_weights({kernel});
    depthwise.set_weights({kernel.reshape({3, 3, 4, 1})});
    auto all = [&](const Layer& layer) {
      return run({x},
                 [&](Graph&, const Values& in) {
                   Value y = layer(in[0]);
                   Value loss = ops::sum(ops::square(y));
                   return Values{y, gradients(loss, Values{in[0]})[0],
                                 gradients(loss, layer.weights())[0]};
                 },
                 {.training = true, .device = device});
    };
    std::vector<Tensor> got = all(grouped), expected = all(depthwise);
    EXPECT_TRUE(near(got[0], expected[0]));
    EXPECT_TRUE(near(got[1], expected[1]));
    EXPECT_TRUE(near(got[2].reshape({3, 3, 4, 1}), expected[2], 1e-4));
  }
}

// Two filters per channel are no depthwise convolution of this kind: filter 2 c + m belongs to
// channel c.
TEST(GroupedConvolution, WithSeveralFiltersPerChannelKeepsTheirOrder) {
  Layer conv = Conv2D(4, 1, {.groups = 2, .use_bias = false});
  conv.base().ensure_built({Shape{1, 1, 1, 2}});
  conv.set_weights({floats({1, 2, 3, 4}, {1, 1, 1, 4})});
  EXPECT_TRUE(near(run_layer(conv, floats({1, 10}, {1, 1, 1, 2})), {1, 2, 30, 40}));
}

}  // namespace
}  // namespace stoker::test
