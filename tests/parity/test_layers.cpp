// Layers in which Keras has a rule of its own, against Keras: keras_layers.py.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/layers.h>
#include <stoker/ops.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

enum Stream : uint64_t { kInput = 0, kKernel = 1, kCotangent = 2, kBatches = 10, kWeights = 20 };

// --- "same" padding
// -------------------------------------------------------------------------------

struct SameCase {
  const char* kind;
  Size2 window;
  int64_t stride;

  std::string name() const {
    return fmt::format("same/{}_{}x{}_stride{}", kind, window.height, window.width, stride);
  }
  Layer layer() const {
    std::string which = kind;
    if (which == "conv")
      return Conv2D(3, window, {.strides = stride, .padding = "same", .use_bias = false});
    if (which == "depthwise")
      return DepthwiseConv2D(
          window, {.strides = stride, .padding = "same", .depth_multiplier = 2, .use_bias = false});
    Pooling2DOptions options{.strides = stride, .padding = "same"};
    if (which == "max_pool") return MaxPooling2D(window, options);
    return AveragePooling2D(window, options);
  }
};

std::vector<SameCase> same_cases() {
  std::vector<SameCase> cases;
  for (const char* kind : {"conv", "depthwise", "max_pool", "average_pool"})
    for (Size2 window : {Size2(2), Size2(3), Size2(4), Size2(2, 5)})
      for (int64_t stride : {1, 2, 3}) cases.push_back({kind, window, stride});
  return cases;
}

using SamePadding = DeviceTest;

TEST_P(SamePadding, IsKerasWithEvenWindowsAndStrides) {
  Recording recording("layers");
  Shape image = {1, 7, 8, 2};
  for (const SameCase& same : same_cases()) {
    Layer layer = same.layer();
    layer.base().ensure_built({image});
    std::vector<Variable> weights = layer.weights();
    for (Variable& weight : weights) weight.write(drawn(recording.seed(), kKernel, weight.shape()));
    Expected output = recording.expected(same.name() + "/output");
    std::vector<Tensor> inputs = {drawn(recording.seed(), kInput, image),
                                  drawn(recording.seed(), kCotangent, output.values.shape())};
    std::vector<Tensor> outputs = run_once(device(), inputs, [&](const Values& traced) {
      Value y = layer(traced[0]);
      Value loss = ops::sum(y * traced[1]);
      Values found = {y, gradients(loss, Values{traced[0]})[0]};
      for (const Value& gradient : gradients(loss, weights)) found.push_back(gradient);
      return found;
    });
    EXPECT_TRUE(agrees(outputs[0], output));
    EXPECT_TRUE(agrees(outputs[1], recording.expected(same.name() + "/input_gradient")));
    EXPECT_EQ(recording.has(same.name() + "/kernel_gradient"), outputs.size() == 3);
    if (outputs.size() == 3) {
      EXPECT_TRUE(agrees(outputs[2], recording.expected(same.name() + "/kernel_gradient")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, SamePadding, kDevices, device_name);

// --- batch normalisation
// --------------------------------------------------------------------------

struct NormCase {
  std::string name;
  BatchNormalizationOptions options;
  Shape shape;
};

std::vector<NormCase> norm_cases() {
  BatchNormalizationOptions momentum{.momentum = 0.75, .epsilon = 0.03125};
  BatchNormalizationOptions plain{.momentum = 0.5, .center = false, .scale = false};
  Shape image = {4, 3, 3, 5}, vector = {6, 5};
  return {{"default_image", {}, image},        {"default_vector", {}, vector},
          {"momentum_image", momentum, image}, {"momentum_vector", momentum, vector},
          {"plain_image", plain, image},       {"plain_vector", plain, vector}};
}

using BatchNorm = DeviceTest;

TEST_P(BatchNorm, KeepsKerasMovingStatisticsAndUsesThemInInference) {
  Recording recording("layers");
  for (const NormCase& norm : norm_cases()) {
    BatchNormalization layer(norm.options);
    layer.base().ensure_built({norm.shape});
    std::vector<Variable> trainable = layer.base().trainable_weights();
    for (size_t i = 0; i < trainable.size(); ++i)
      trainable[i].write(
          drawn(recording.seed(), kWeights + i, trainable[i].shape(), {.limit = 0.5, .centre = 1}));
    auto batch = [&](int step) {
      Range range{.limit = float(1 << step), .centre = 2.0F * float(step)};
      return drawn(recording.seed(), kBatches + uint64_t(step), norm.shape, range);
    };
    auto expected = [&](const std::string& what) {
      return recording.expected("batch_norm/" + norm.name + "/" + what);
    };
    auto body = [&](const Values& inputs) { return Values{layer(inputs[0])}; };
    Step training(device(), body);
    for (int step = 0; step < 3; ++step)
      EXPECT_TRUE(agrees(training.run({batch(step)})[0], expected(fmt::format("step{}", step))));
    std::vector<Variable> weights = layer.weights();  // trainable first
    EXPECT_TRUE(agrees(weights[weights.size() - 2].read(), expected("moving_mean")));
    EXPECT_TRUE(agrees(weights[weights.size() - 1].read(), expected("moving_variance")));
    Step inference(device(), body, Step::Mode::inference);
    EXPECT_TRUE(agrees(inference.run({batch(3)})[0], expected("inference")));
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, BatchNorm, kDevices, device_name);

}  // namespace
}  // namespace stoker
