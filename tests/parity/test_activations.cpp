// Every activation that Keras has by name, values and gradients, against Keras: keras_values.py.

#include <gtest/gtest.h>
#include <stoker/ops.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

using Activations = DeviceTest;

TEST_P(Activations, HaveKerasValuesAndGradients) {
  Recording recording("activations");
  Tensor grid = recording.tensor("grid");
  Tensor rows = drawn(recording.seed(), 80, {6, 7}, {.limit = 8});
  Tensor row_weights = drawn(recording.seed(), 81, {6, 7});
  size_t activations = 0;
  for (const std::string& tensor : recording.names("")) {
    if (!tensor.ends_with("/value") || tensor.starts_with("noise/")) continue;
    ++activations;
    std::string name = tensor.substr(0, tensor.find('/'));
    bool by_row = name == "softmax" || name == "log_softmax";
    std::vector<Tensor> inputs =
        by_row ? std::vector{rows, row_weights} : std::vector{grid, Tensor::full(grid.shape(), 1)};
    std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
      Value y = ops::activation(traced[0], name);
      return Values{y, gradients(ops::sum(y * traced[1]), Values{traced[0]})[0]};
    });
    EXPECT_TRUE(agrees(outputs[0], recording.expected(name + "/value")));
    EXPECT_TRUE(agrees(outputs[1], recording.expected(name + "/gradient")));
  }
  EXPECT_EQ(activations, 27U);
}

INSTANTIATE_TEST_SUITE_P(Parity, Activations, kDevices, device_name);

}  // namespace
}  // namespace stoker
