// The parity tests can fail: what they would have to notice is noticed.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "parity/comparison.h"
#include "parity/networks.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

Tensor changed(const Tensor& tensor, int64_t index, float by) {
  Tensor copy = tensor.clone();
  copy.data_mut<float>()[index] += by;
  return copy;
}

TEST(Comparison, AcceptsWhatWasRecorded) {
  Recording recording("cnn");
  for (const std::string& name : recording.names("gradient/")) {
    Expected expected = recording.expected("gradient/" + name);
    EXPECT_EQ(compare(expected.values, expected).share, 0) << name;
  }
}

TEST(Comparison, NoticesOneElementThatIsWrongByAThousandthOfTheLargest) {
  for (const char* network : {"cnn", "residual", "separable", "mlp"}) {
    Recording recording(network);
    for (const std::string& name : recording.names("gradient/")) {
      Expected expected = recording.expected("gradient/" + name);
      double largest = 0;
      for (float value : expected.values.values<float>())
        largest = std::max(largest, std::abs(double(value)));
      Tensor wrong =
          changed(expected.values, expected.values.elements() / 2, float(largest / 1000));
      EXPECT_FALSE(agrees(wrong, expected)) << network << " " << name;
    }
  }
}

TEST(Comparison, SaysWhereAndByHowMuch) {
  Expected expected{"gradient/conv1/kernel", Tensor::from({1.F, 2.F, 3.F, 4.F}, {2, 2}),
                    Tensor(0.125F)};
  EXPECT_TRUE(agrees(changed(expected.values, 2, 0.99F), expected));
  std::string text = agrees(changed(expected.values, 2, 1.5F), expected).message();
  EXPECT_EQ(
      text,
      "gradient/conv1/kernel [2, 2]: 1 of 4 elements differ by more than is allowed; worst at "
      "[1, 0]: got 4.5, expected 3, difference 1.5, tolerance 1 = 8 · noise 0.125 + 4 · "
      "2^-23 · scale 4");
}

TEST(Comparison, AllowsEachRowItsOwnNoise) {
  Expected expected{"loss", Tensor::from({1.F, 1.F}, {2}), Tensor::from({0.F, 0.5F}, {2})};
  EXPECT_TRUE(agrees(Tensor::from({1.F, 4.F}, {2}), expected));
  EXPECT_FALSE(agrees(Tensor::from({1.0001F, 1.F}, {2}), expected));
}

TEST(Comparison, NoticesWhatIsNotANumberOrNotTheShape) {
  Expected expected{"loss", Tensor::from({1.F, 2.F}, {2}), Tensor(1.0F)};
  EXPECT_FALSE(agrees(changed(expected.values, 0, std::nanf("")), expected));
  EXPECT_FALSE(
      agrees(changed(expected.values, 1, std::numeric_limits<float>::infinity()), expected));
  EXPECT_FALSE(agrees(expected.values.reshape({1, 2}), expected));
  EXPECT_FALSE(agrees(expected.values.cast(DType::int64), expected));
}

// A network that is wrong in a small way: one kernel element is a hundredth too large.
TEST(Comparison, NoticesAWeightThatIsNotThePeers) {
  Network network("mlp");
  Variable kernel = network.variables()[0];
  kernel.write(changed(kernel.read(), 7, 0.01F));
  std::vector<Tensor> outputs =
      run_once("reference", {network.images(0), network.labels(0)}, [&](const Values& inputs) {
        Value loss = SparseCategoricalCrossentropy()(inputs[1], network.model()(inputs[0]));
        return Values{gradients(loss, network.variables())[0]};
      });
  EXPECT_FALSE(agrees(outputs[0], network.recording().expected("gradient/dense1/kernel")));
}

}  // namespace
}  // namespace stoker
