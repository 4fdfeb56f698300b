#include "parity/networks.h"

#include <map>

#include <stoker/error.h>
#include <stoker/layers.h>

namespace stoker::test {

namespace {

constexpr int64_t kBatch = 8;
constexpr uint64_t kInputStream = 1000, kLabelStream = 2000;

Model cnn() {
  return Sequential({
      Input({28, 28, 1}),
      Conv2D(32, 3, {.activation = "relu", .name = "conv1"}),
      MaxPooling2D(2),
      Conv2D(64, 3, {.activation = "relu", .name = "conv2"}),
      MaxPooling2D(2),
      Flatten(),
      Dense(kClasses, {.activation = "softmax", .name = "dense"}),
  });
}

Value conv_norm(const Value& x, int64_t filters, const std::string& name, Size2 kernel = 3,
                Size2 strides = 1) {
  Conv2D conv(filters, kernel,
              {.strides = strides, .padding = "same", .use_bias = false, .name = name});
  return BatchNormalization({.name = name + "_bn"})(conv(x));
}

Model residual() {
  Value in = Input({16, 16, 3});
  Value x = ReLU()(conv_norm(in, 8, "stem"));
  Value inner = ReLU()(conv_norm(x, 8, "block1_a"));
  x = ReLU()(Add()({conv_norm(inner, 8, "block1_b"), x}));
  inner = ReLU()(conv_norm(x, 16, "block2_a", 3, 2));
  x = ReLU()(Add()({conv_norm(inner, 16, "block2_b"), conv_norm(x, 16, "project", 1, 2)}));
  Dense dense(kClasses, {.activation = "softmax", .name = "dense"});
  return Model(in, dense(GlobalAveragePooling2D()(x)));
}

Model separable() {
  return Sequential({
      Input({15, 14, 3}),
      Conv2D(8, 3, {.strides = 2, .padding = "same", .activation = "relu", .name = "stem"}),
      DepthwiseConv2D(
          3, {.strides = 2, .padding = "same", .activation = "relu6", .name = "depthwise1"}),
      SeparableConv2D(
          16, 3,
          {.padding = "same", .depth_multiplier = 2, .activation = "relu", .name = "separable"}),
      DepthwiseConv2D(4, {.padding = "same", .activation = "relu6", .name = "depthwise2"}),
      GlobalAveragePooling2D(),
      Dense(kClasses, {.activation = "softmax", .name = "dense"}),
  });
}

Model mlp() {
  return Sequential({
      Input({32}),
      Dense(48, {.name = "dense1"}),
      LayerNormalization({.name = "norm1"}),
      Activation("gelu"),
      Dropout(0.0),
      Dense(48, {.name = "dense2"}),
      LayerNormalization({.name = "norm2"}),
      Activation("gelu"),
      Dropout(0.0),
      Dense(kClasses, {.activation = "softmax", .name = "dense3"}),
  });
}

Model build(const std::string& name) {
  if (name == "cnn") return cnn();
  if (name == "residual") return residual();
  if (name == "separable") return separable();
  if (name == "mlp") return mlp();
  throw ValueError("no network \"" + name + "\"");
}

}  // namespace

Network::Network(const std::string& name)
    : name_(name), recording_(name), model_(build(name)), parameters_(recording_.names("limit/")) {
  std::map<std::string, size_t> taken;  // weights of a layer, which the file has in Keras's order
  for (uint64_t stream = 0; stream < parameters_.size(); ++stream) {
    const std::string& parameter = parameters_[stream];
    std::string layer = parameter.substr(0, parameter.find('/'));
    Variable variable = model_.get_layer(layer).weights().at(taken[layer]++);
    const Tensor& limit = recording_.tensor("limit/" + parameter);
    Range range{.limit = float(limit.at(0)), .centre = float(limit.at(1))};
    variable.write(drawn(recording_.seed(), stream, variable.shape(), range));
    variables_.push_back(variable);
  }
}

Tensor Network::images(int step) const {
  return drawn(recording_.seed(), kInputStream + uint64_t(step),
               model_.inputs()[0].shape().with(0, kBatch), {.limit = 0.5, .centre = 0.5});
}

Tensor Network::labels(int step) const {
  return drawn_integers(recording_.seed(), kLabelStream + uint64_t(step), {kBatch}, kClasses);
}

}  // namespace stoker::test
