#include "models.h"

namespace stoker::peers {
namespace {

Value convolution(const Value& x, int64_t filters, int64_t kernel, int64_t stride) {
  return Conv2D(filters, kernel, {.strides = stride, .padding = "same", .use_bias = false})(x);
}

Value residual_block(const Value& x, int64_t filters, int64_t stride) {
  Value y = Activation("relu")(BatchNormalization()(convolution(x, filters, 3, stride)));
  y = BatchNormalization()(convolution(y, filters, 3, 1));
  Value shortcut = stride == 1 ? x : BatchNormalization()(convolution(x, filters, 1, stride));
  return Activation("relu")(Add()({shortcut, y}));
}

Model residual() {
  Value in = Input({32, 32, 3});
  Value x = Activation("relu")(BatchNormalization()(convolution(in, 32, 3, 1)));
  x = residual_block(x, 32, 1);
  x = residual_block(x, 64, 2);
  x = residual_block(x, 128, 2);
  return Model(in, Dense(10, {.activation = "softmax"})(GlobalAveragePooling2D()(x)));
}

Model photos() {
  return Sequential({
      Input({96, 96, 3}),
      Rescaling(1.0 / 255),
      Conv2D(16, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(32, 3, {.padding = "same", .activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(64, 3, {.padding = "same", .activation = "relu"}),
      GlobalAveragePooling2D(),
      Dense(10, {.activation = "softmax"}),
  });
}

}  // namespace

Model build_model(const std::string& name) {
  applications::Options digits{.input_shape = input_shape(name), .classes = 10};
  if (name == "cnn64") return applications::cnn(digits);
  if (name == "cnn32") return applications::cnn_small(digits);
  if (name == "residual") return residual();
  if (name == "mlp") return applications::mlp(digits);
  if (name == "photos") return photos();
  throw ValueError("model \"" + name + "\": expected cnn64, cnn32, residual, mlp or photos");
}

Shape input_shape(const std::string& name) {
  if (name == "mlp") return {784};
  if (name == "residual") return {32, 32, 3};
  return {28, 28, 1};
}

int64_t trainable_parameters(const Model& model) {
  int64_t sum = 0;
  for (const Variable& variable : model.trainable_variables()) sum += variable.shape().elements();
  return sum;
}

}  // namespace stoker::peers
