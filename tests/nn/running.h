// Traces a function of values, runs it once on a backend and gives what came out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/layers.h>

#include "support/devices.h"

namespace stoker::test {

struct RunOptions {
  bool training = false;
  int64_t seed = 1, step = 0;  // of the random state
  std::string device = "reference";
};

using Function = std::function<Values(Graph& graph, const Values& inputs)>;
std::vector<Tensor> run(const std::vector<Tensor>& inputs, const Function& function,
                        const RunOptions& options = {});
// One input, one output.
Tensor run_layer(const Layer& layer, const Tensor& input, const RunOptions& options = {});
// The sum of a layer's output times `weights`, a scalar with a gradient worth looking at.
Value weighted_sum(const Value& y, const Tensor& weights);

// Numbers of [-1, 1), the same every time.
Tensor random_tensor(const Shape& shape, uint64_t seed = 1);
Tensor floats(const std::vector<float>& values, const Shape& shape);

::testing::AssertionResult near(const Tensor& got, const Tensor& expected, double tolerance = 1e-5);
::testing::AssertionResult near(const Tensor& got, const std::vector<double>& expected,
                                double tolerance = 1e-5);
inline ::testing::AssertionResult near(const Tensor& got, std::initializer_list<double> expected,
                                       double tolerance = 1e-5) {
  return near(got, std::vector<double>(expected), tolerance);
}

// The text of the E that `action` throws.
template <class E, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

}  // namespace stoker::test
