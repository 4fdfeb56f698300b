// Output shapes and numbers of parameters, as Keras's summary() shows them.
#include "nn/running.h"

namespace stoker::test {
namespace {

struct Expected {
  Layer layer;
  Shape input, output;  // without the batch
  int64_t parameters = 0;
  int64_t trainable = -1;  // -1: all of them
};

int64_t elements(const std::vector<Variable>& variables) {
  int64_t sum = 0;
  for (const Variable& variable : variables) sum += variable.shape().elements();
  return sum;
}

void check(const std::vector<Expected>& rows) {
  for (const auto& [layer, input, output, parameters, trainable] : rows) {
    SCOPED_TRACE(layer.base().kind() + " on " + to_string(input));
    Value y = layer(Input(input));
    EXPECT_EQ(y.shape(), output.prepend(-1)) << to_string(y.shape());
    EXPECT_EQ(layer.base().parameters(), parameters);
    EXPECT_EQ(elements(layer.base().trainable_weights()), trainable < 0 ? parameters : trainable);
  }
}

TEST(LayerShapes, OfDense) {
  check({{Dense(10), {784}, {10}, 7850},
         {Dense(10, {.use_bias = false}), {784}, {10}, 7840},
         {Dense(64), {20, 32}, {20, 64}, 2112}});
}

TEST(LayerShapes, OfConvolutions) {
  check(
      {{Conv2D(32, 3), {28, 28, 1}, {26, 26, 32}, 320},
       {Conv2D(64, 3), {13, 13, 32}, {11, 11, 64}, 18496},
       {Conv2D(64, {7, 5}, {.strides = 2, .padding = "same"}), {225, 224, 3}, {113, 112, 64}, 6784},
       {Conv2D(16, 3, {.padding = "same", .use_bias = false}), {8, 8, 4}, {8, 8, 16}, 576},
       {Conv2D(16, 3, {.dilation_rate = 2}), {28, 28, 1}, {24, 24, 16}, 160},
       {Conv2D(16, 3, {.groups = 4}), {8, 8, 8}, {6, 6, 16}, 304},
       {DepthwiseConv2D(3), {28, 28, 8}, {26, 26, 8}, 80},
       {DepthwiseConv2D(3, {.padding = "same", .depth_multiplier = 2}),
        {28, 28, 8},
        {28, 28, 16},
        160},
       {SeparableConv2D(32, 3), {28, 28, 8}, {26, 26, 32}, 360},
       {SeparableConv2D(32, 3, {.strides = 2, .padding = "same", .depth_multiplier = 2}),
        {28, 28, 8},
        {14, 14, 32},
        688}});
}

TEST(LayerShapes, OfPooling) {
  check({{MaxPooling2D(), {26, 26, 32}, {13, 13, 32}},
         {MaxPooling2D(2), {11, 11, 64}, {5, 5, 64}},
         {MaxPooling2D(2, {.padding = "same"}), {11, 11, 64}, {6, 6, 64}},
         {MaxPooling2D(3, {.strides = 2, .padding = "same"}), {112, 112, 64}, {56, 56, 64}},
         {AveragePooling2D({2, 3}), {8, 9, 4}, {4, 3, 4}},
         {GlobalAveragePooling2D(), {7, 7, 512}, {512}},
         {GlobalMaxPooling2D({.keepdims = true}), {7, 7, 512}, {1, 1, 512}}});
}

TEST(LayerShapes, OfReshaping) {
  check({{Flatten(), {5, 5, 64}, {1600}},
         {Flatten(), {}, {1}},
         {Reshape({28, 28, 1}), {784}, {28, 28, 1}},
         {Reshape({-1, 4}), {6, 6}, {9, 4}},
         {Permute({2, 1}), {10, 64}, {64, 10}},
         {Permute({3, 1, 2}), {4, 5, 6}, {6, 4, 5}},
         {ZeroPadding2D(), {8, 8, 3}, {10, 10, 3}},
         {ZeroPadding2D({1, 2}), {8, 8, 3}, {10, 12, 3}},
         {ZeroPadding2D({{1, 0}, {2, 1}}), {8, 8, 3}, {9, 11, 3}},
         {Cropping2D({{1, 0}, {2, 1}}), {8, 8, 3}, {7, 5, 3}},
         {UpSampling2D(), {8, 8, 3}, {16, 16, 3}},
         {UpSampling2D({1, 3}), {8, 8, 3}, {8, 24, 3}}});
}

TEST(LayerShapes, OfNormalization) {
  check({{BatchNormalization(), {14, 14, 32}, {14, 14, 32}, 128, 64},
         {BatchNormalization({.scale = false}), {14, 14, 32}, {14, 14, 32}, 96, 32},
         {BatchNormalization({.axis = 1}), {14, 15, 32}, {14, 15, 32}, 56, 28},
         {BatchNormalization(), {100}, {100}, 400, 200},
         {LayerNormalization(), {10, 64}, {10, 64}, 128},
         {LayerNormalization({.axis = {1, 2}}), {10, 64}, {10, 64}, 1280},
         {LayerNormalization({.axis = 1, .center = false}), {10, 64}, {10, 64}, 10},
         {WeightNormalization(Dense(10)), {784}, {10}, 7860},
         {WeightNormalization(Conv2D(32, 3)), {28, 28, 1}, {26, 26, 32}, 352}});
}

TEST(LayerShapes, OfActivationsAndTheRest) {
  check({{Activation("relu"), {7, 7, 3}, {7, 7, 3}},
         {ReLU({.max_value = 6}), {5}, {5}},
         {LeakyReLU(), {5}, {5}},
         {ELU(), {5}, {5}},
         {Softmax(), {5}, {5}},
         {PReLU(), {7, 7, 3}, {7, 7, 3}, 147},
         {PReLU({.shared_axes = {1, 2}}), {7, 7, 3}, {7, 7, 3}, 3},
         {Dropout(0.5), {5}, {5}},
         {Rescaling(1.0 / 255), {28, 28, 1}, {28, 28, 1}},
         {Normalization(), {28, 28, 3}, {28, 28, 3}, 7, 0},
         {Normalization({.mean = {1}, .variance = {2}}), {28, 28, 3}, {28, 28, 3}},
         {Embedding(1000, 64), {10}, {10, 64}, 64000}});
}

TEST(LayerShapes, OfMerging) {
  Value a = Input({8, 8, 3}), b = Input({8, 8, 5}), c = Input({3}), d = Input({8, 8, 3});
  for (const Layer& layer :
       std::vector<Layer>{Add(), Multiply(), Average(), Maximum(), Minimum(), Subtract()}) {
    EXPECT_EQ(layer({a, d}).shape(), Shape({-1, 8, 8, 3})) << layer.base().kind();
    EXPECT_EQ(layer({a, c}).shape(), Shape({-1, 8, 8, 3})) << layer.base().kind();
  }
  EXPECT_EQ(Add()({a, d, a}).shape(), Shape({-1, 8, 8, 3}));
  EXPECT_EQ(Concatenate()({a, b}).shape(), Shape({-1, 8, 8, 8}));
  EXPECT_EQ(Concatenate(1)({a, d}).shape(), Shape({-1, 16, 8, 3}));
}

TEST(LayerShapes, AnInputIsTheSameValueEveryTime) {
  Input input({28, 28}, {.dtype = DType::uint8, .name = "image"});
  Value first = input, second = input;
  EXPECT_TRUE(same(first, second));
  EXPECT_EQ(first.shape(), Shape({-1, 28, 28}));
  EXPECT_EQ(first.dtype(), DType::uint8);
}

}  // namespace
}  // namespace stoker::test
