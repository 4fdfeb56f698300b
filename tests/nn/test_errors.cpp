// What people read when a name, an option or a shape is wrong.
#include <stoker/losses.h>
#include <stoker/metrics.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

std::string shape_error(const std::function<void()>& action) {
  return message_of<ShapeError>(action);
}
std::string value_error(const std::function<void()>& action) {
  return message_of<ValueError>(action);
}

TEST(Errors, OfConvolutionsNameTheLayerAndTheShapes) {
  EXPECT_EQ(shape_error([] { Conv2D(4, 3, {.name = "stem"})(Input({784})); }),
            "Conv2D \"stem\": expected 4-D input [B, H, W, C], got [None, 784]; add "
            "Reshape({height, width, "
            "channels}) before it");
  EXPECT_EQ(shape_error([] {
              run_layer(Conv2D(4, 3, {.name = "stem"}), random_tensor({32, 28, 28}));
            }),
            "Conv2D \"stem\": expected 4-D input [B, H, W, C], got [32, 28, 28]; add Reshape({28, "
            "28, 1}) "
            "before it");
  EXPECT_EQ(
      shape_error([] { MaxPooling2D()(Input({5})); }),
      "MaxPooling2D: expected 4-D input [B, H, W, C], got [None, 5]; add Reshape({height, width, "
      "channels}) before it");
  EXPECT_EQ(shape_error([] {
              Conv2D(4, 3, {.groups = 2})(Input({8, 8, 3}));
            }),
            "Conv2D: expected a number of channels that 2 groups can share, got [None, 8, 8, 3]");
  EXPECT_EQ(shape_error([] {
              Layer conv = Conv2D(4, 3);
              conv(Input({8, 8, 3}));
              conv(Input({8, 8, 1}));
            }),
            "Conv2D: expected input [B, H, W, 3], which it was built for, got [None, 8, 8, 1]");
}

TEST(Errors, OfIntegerInputSayToRescale) {
  EXPECT_EQ(shape_error([] {
              Conv2D(4, 3, {.name = "stem"})(Input({8, 8, 3}, {.dtype = DType::uint8}));
            }),
            "Conv2D \"stem\": expected float input, got uint8[None, 8, 8, 3]; add Rescaling(1.0 / "
            "255) before "
            "it");
  EXPECT_EQ(
      shape_error([] { Dense(4)(Input({8}, {.dtype = DType::int32})); }),
      "Dense: expected float input, got int32[None, 8]; add Rescaling(1.0 / 255) before it, or "
      "Embedding if these are ids");
  EXPECT_EQ(shape_error([] { BatchNormalization()(Input({8}, {.dtype = DType::uint8})); }),
            "BatchNormalization: expected float input, got uint8[None, 8]; add Rescaling(1.0 / "
            "255) before it");
  EXPECT_EQ(shape_error([] {
              MaxPooling2D()(Input({8, 8, 1}, {.dtype = DType::uint8}));
            }),
            "MaxPooling2D: expected float input, got uint8[None, 8, 8, 1]; add Rescaling(1.0 / "
            "255) before it");
  EXPECT_EQ(shape_error([] { Activation("relu")(Input({8}, {.dtype = DType::bytes})); }),
            "Activation: expected float input, got bytes[None, 8]; decode the bytes or map them to "
            "numbers in the input pipeline");
}

TEST(Errors, OfDense) {
  EXPECT_EQ(
      shape_error([] { Dense(4)(Input({})); }),
      "Dense: expected input of 2 or more dimensions, [B, features], got [None]; add Reshape({1}) "
      "before it if every element is one number");
  EXPECT_EQ(shape_error([] {
              Layer dense = Dense(4, {.name = "head"});
              dense(Input({8}));
              dense(Input({9}));
            }),
            "Dense \"head\": expected input [.., 8], which it was built for, got [None, 9]");
  EXPECT_EQ(value_error([] { Dense(0); }), "Dense: units must be at least 1, got 0");
}

TEST(Errors, OfOptionsNameTheRightOnes) {
  EXPECT_EQ(value_error([] { Conv2D(4, 3, {.padding = "sme", .name = "stem"}); }),
            "Conv2D \"stem\": padding must be \"valid\" or \"same\", got \"sme\"");
  EXPECT_EQ(value_error([] { MaxPooling2D(2, {.padding = "full"}); }),
            "MaxPooling2D: padding must be \"valid\" or \"same\", got \"full\"");
  EXPECT_EQ(value_error([] {
              Conv2D(4, {3, 0});
            }),
            "Conv2D: kernel_size must be at least 1, got {3, 0}");
  EXPECT_EQ(value_error([] { Conv2D(5, 3, {.groups = 2}); }),
            "Conv2D: 5 filters cannot be shared by 2 groups");
  EXPECT_EQ(value_error([] { Dropout(1.5); }),
            "Dropout: rate must be at least 0 and below 1, the share that becomes 0, got 1.5");
  EXPECT_EQ(
      value_error([] { UpSampling2D(2, {.interpolation = "area"}); }),
      "UpSampling2D: interpolation must be \"nearest\", \"bilinear\", \"bicubic\", \"lanczos3\" or "
      "\"lanczos5\", got \"area\"");
  EXPECT_EQ(value_error([] {
              ZeroPadding2D({{1, 1}, {0, -1}});
            }),
            "ZeroPadding2D: padding must be at least 0, got {{1, 1}, {0, -1}}");
  EXPECT_EQ(value_error([] {
              Permute({0, 1});
            }),
            "Permute: dims holds each of 1 to 2 once, got [0, 1]; the batch, 0, stays");
  EXPECT_EQ(value_error([] {
              Normalization({.mean = {1, 2}});
            }),
            "Normalization: mean and variance go together, got 2 and 0 values");
  EXPECT_EQ(value_error([] { WeightNormalization wrapped{Flatten()}; }),
            "WeightNormalization: wraps one of Dense, Conv1D, Conv2D, got Flatten");
  EXPECT_EQ(value_error([] { Huber(0); }), "Huber: delta must be above 0, got 0");
  EXPECT_EQ(value_error([] { CategoricalCrossentropy({.label_smoothing = 2}); }),
            "CategoricalCrossentropy: label_smoothing must be between 0 and 1, got 2");
  EXPECT_EQ(value_error([] { TopKCategoricalAccuracy(0); }),
            "TopKCategoricalAccuracy: k must be at least 1, got 0");
}

TEST(Errors, OfNamesListTheRightOnes) {
  std::string activation = value_error([] { Dense(1, {.activation = "rely"}); });
  EXPECT_TRUE(activation.starts_with("unknown activation \"rely\"; there are ")) << activation;
  EXPECT_NE(activation.find("relu"), std::string::npos);
  EXPECT_EQ(
      value_error([] { Initializer("glorot"); }),
      "unknown initializer \"glorot\"; there are zeros, ones, constant, identity, random_normal, "
      "normal, "
      "truncated_normal, random_uniform, uniform, variance_scaling, glorot_uniform, glorot_normal, "
      "he_uniform, he_normal, lecun_uniform, lecun_normal, orthogonal, stft, STFTInitializer");
  EXPECT_EQ(value_error([] {
              VarianceScaling({.mode = "fan"})({2, 2});
            }),
            "VarianceScaling: mode must be fan_in, fan_out or fan_avg, got \"fan\"");
  EXPECT_EQ(
      value_error([] {
        VarianceScaling({.distribution = "flat"})({2, 2});
      }),
      "VarianceScaling: distribution must be truncated_normal, untruncated_normal or uniform, got "
      "\"flat\"");
  EXPECT_EQ(value_error([] { Regularizer("l3"); }),
            "unknown regularizer \"l3\"; there are l1, l2, l1_l2, orthogonal_regularizer");
  std::string loss = value_error([] { Loss("cross"); });
  EXPECT_TRUE(
      loss.starts_with("unknown loss \"cross\"; there are sparse_categorical_crossentropy, "
                       "categorical_crossentropy, binary_crossentropy, bce, "
                       "mean_squared_error, mse, mean_absolute_error, mae, huber, "))
      << loss;
  std::string metric = value_error([] { Metric("accurate"); });
  EXPECT_TRUE(metric.starts_with("unknown metric \"accurate\"; there are accuracy, acc, "))
      << metric;
}

TEST(Errors, OfReshapingSayWhatDoesNotFit) {
  EXPECT_EQ(shape_error([] {
              Reshape({7, 7})(Input({28, 2}));
            }),
            "Reshape: cannot make [7, 7] of the 56 values of an element of [None, 28, 2]");
  EXPECT_EQ(shape_error([] {
              Reshape({-1, 5})(Input({28}));
            }),
            "Reshape: cannot make [None, 5] of the 28 values of an element of [None, 28]");
  EXPECT_EQ(value_error([] {
              Reshape({-1, -1});
            }),
            "Reshape: at most one dimension may be -1, got [None, None]");
  EXPECT_EQ(shape_error([] {
              Permute({2, 1})(Input({3}));
            }),
            "Permute: expected 3-D input, got [None, 3]");
  EXPECT_EQ(shape_error([] {
              Cropping2D(2)(Input({4, 8, 1}));
            }),
            "Cropping2D: expected an image larger than the 4 rows and 4 columns that are cropped, "
            "got [None, "
            "4, 8, 1]");
}

TEST(Errors, OfAxes) {
  EXPECT_EQ(
      shape_error([] { BatchNormalization({.axis = 3})(Input({8})); }),
      "BatchNormalization: axis 3 is not one of the input's [None, 8], axes 1 to 1 (or -1 to -1)");
  EXPECT_EQ(value_error([] {
              LayerNormalization({.axis = {1, -1}})(Input({8}));
            }),
            "LayerNormalization: axis names an axis twice");
  EXPECT_EQ(shape_error([] { Softmax(0)(Input({8})); }),
            "Softmax: axis 0 is not one of the input's [None, 8], axes 1 to 1 (or -1 to -1)");
}

TEST(Errors, OfMergingNameAllShapes) {
  Value a = Input({8, 8, 3}), b = Input({8, 8, 5}), c = Input({4, 8, 3});
  EXPECT_EQ(shape_error([&] {
              Add({.name = "residual"})({a, b});
            }),
            "Add \"residual\": inputs of shapes [None, 8, 8, 3] and [None, 8, 8, 5] do not fit "
            "each other");
  EXPECT_EQ(
      shape_error([&] {
        Concatenate()({a, c});
      }),
      "Concatenate: inputs may differ in axis -1 only, got [None, 8, 8, 3] and [None, 4, 8, 3]");
  EXPECT_EQ(shape_error([&] { Add()(a); }),
            "Add: expected 2 or more inputs, as in Add()({a, b}), got 1");
  EXPECT_EQ(shape_error([&] {
              Subtract()({a, a, a});
            }),
            "Subtract: expected 2 inputs, as in Subtract()({a, b}), got 3");
  EXPECT_EQ(shape_error([&] { Dense(3)({a, b}); }), "Dense: expected 1 input, got 2");
}

TEST(Errors, OfTargetsNameBothShapesAndTheRightLoss) {
  auto apply = [](const Loss& loss, const Shape& y_true, const Shape& y_pred) {
    return shape_error([&] {
      Graph graph;
      loss(graph.input("y", {DType::float32, y_true}), graph.input("p", {DType::float32, y_pred}));
    });
  };
  EXPECT_EQ(apply("sparse_categorical_crossentropy", {32, 10}, {32, 10}),
            "sparse_categorical_crossentropy: predictions of shape [32, 10] and targets of shape "
            "[32, 10] do "
            "not fit; these targets have one value for each class, as one-hot ones do: use "
            "categorical_crossentropy, or give class ids");
  EXPECT_EQ(apply("sparse_categorical_crossentropy", {16}, {32, 10}),
            "sparse_categorical_crossentropy: predictions of shape [32, 10] and targets of shape "
            "[16] do not "
            "fit; expected class ids of shape [32]");
  EXPECT_EQ(
      apply("categorical_crossentropy", {32, 1}, {32, 10}),
      "categorical_crossentropy: predictions of shape [32, 10] and targets of shape [32, 1] do not "
      "fit; "
      "these targets are class ids: use sparse_categorical_crossentropy, or make them one-hot");
  EXPECT_EQ(apply("categorical_crossentropy", {32, 5}, {32, 10}),
            "categorical_crossentropy: predictions of shape [32, 10] and targets of shape [32, 5] "
            "do not fit; "
            "expected one-hot targets of the predictions' shape");
  EXPECT_EQ(apply("binary_crossentropy", {32}, {32, 10}),
            "binary_crossentropy: predictions of shape [32, 10] and targets of shape [32] do not "
            "fit; they "
            "must have one shape; make class ids one-hot (utils::to_categorical), or use "
            "sparse_categorical_crossentropy, which takes them as they are");
  EXPECT_EQ(apply("mse", {32, 3}, {32, 4}),
            "mean_squared_error: predictions of shape [32, 4] and targets of shape [32, 3] do not "
            "fit; they "
            "must have one shape");
}

TEST(Errors, OfTargetsOfMetricsNameTheRightMetric) {
  auto update = [](const Metric& metric, const Shape& y_true) {
    return shape_error([&] {
      Graph graph;
      metric.update(graph.input("y", {DType::float32, y_true}),
                    graph.input("p", {DType::float32, {32, 10}}));
    });
  };
  EXPECT_NE(update("sparse_categorical_accuracy", {32, 10}).find("use categorical_accuracy,"),
            std::string::npos);
  EXPECT_NE(
      update("top_k_categorical_accuracy", {32}).find("use sparse_top_k_categorical_accuracy,"),
      std::string::npos);
}

TEST(Errors, OfWeightsAndOwnLosses) {
  EXPECT_EQ(shape_error([] {
              Graph graph;
              Value y = graph.input("y", {DType::float32, {4, 1}});
              Loss("mse")(y, y, graph.input("w", {DType::float32, {3}}));
            }),
            "loss \"MeanSquaredError\": sample_weight: expected one per sample, [4], got [3]");
  EXPECT_EQ(shape_error([] {
              Graph graph;
              Value y = graph.input("y", {DType::float32, {4, 2}});
              Loss("mine", [](const Value&, const Value& p) { return ops::sum(p, {.axes = {0}}); })(
                  y, y);
            }),
            "loss \"mine\": expected one value per sample, [4], or per element, [4, ..], got [2]; "
            "average over all axes but the first, ops::mean(x, {.axes = {1, …}})");
  EXPECT_EQ(message_of<Error>([] {
              Graph graph;
              Value y = graph.input("y", {DType::float32, {4, 2}});
              Loss()(y, y);
            }),
            "an empty Loss was called; give it a name, such as \"mse\"");
}

}  // namespace
}  // namespace stoker::test
