// Layers over one, two and three axes, and those around and between others, against Keras:
// keras_spatial.py.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/convolution_layers.h>
#include <stoker/layers.h>
#include <stoker/pooling_layers.h>
#include <stoker/regularization_layers.h>
#include <stoker/shape_layers.h>

#include "nn/layers/resampled.h"
#include "parity/comparison.h"
#include "parity/layer_cases.h"
#include "parity/step.h"

namespace stoker::spatial {  // its streams, not the other files' of this program
namespace {

using namespace test;

const Shape kSequence = {2, 9, 3}, kImage = {2, 5, 6, 3}, kVolume = {1, 4, 5, 6, 2};

std::vector<LayerParity> convolutions() {
  Shape image = kImage, volume = kVolume;
  return {
      {"conv2d_transpose", Conv2DTranspose(4, 3), {image}},
      {"conv2d_transpose_stride", Conv2DTranspose(4, {3, 2}, {.strides = {2, 3}}), {image}},
      {"conv2d_transpose_same",
       Conv2DTranspose(4, {4, 3}, {.strides = 2, .padding = "same", .activation = "relu"}),
       {image}},
      {"conv2d_transpose_wide", Conv2DTranspose(4, 2, {.strides = 3, .padding = "same"}), {image}},
      {"conv2d_transpose_more",
       Conv2DTranspose(4, 3, {.strides = 2, .output_padding = 1}),
       {image}},
      {"conv2d_transpose_same_more",
       Conv2DTranspose(
           4, 5,
           {.strides = 3, .padding = "same", .output_padding = Size2(2, 1), .use_bias = false}),
       {image}},
      {"conv3d", Conv3D(4, 3), {volume}},
      {"conv3d_flat", Conv3D(4, {1, 3, 2}, {.activation = "tanh"}), {volume}},
      {"conv3d_same", Conv3D(4, {2, 3, 4}, {.padding = "same", .activation = "relu"}), {volume}},
      {"conv3d_stride", Conv3D(4, {3, 2, 3}, {.strides = {2, 1, 3}, .use_bias = false}), {volume}},
      {"conv3d_same_stride", Conv3D(4, {3, 3, 2}, {.strides = 2, .padding = "same"}), {volume}},
      {"conv3d_transpose", Conv3DTranspose(3, 3), {volume}},
      {"conv3d_transpose_stride", Conv3DTranspose(3, {2, 3, 2}, {.strides = {3, 1, 2}}), {volume}},
      {"conv3d_transpose_same",
       Conv3DTranspose(3, {4, 3, 2}, {.strides = 2, .padding = "same", .activation = "relu"}),
       {volume}},
      {"conv3d_transpose_more",
       Conv3DTranspose(3, 3, {.strides = 2, .output_padding = 1}),
       {volume}},
  };
}

std::vector<LayerParity> poolings() {
  Shape sequence = kSequence, image = kImage, volume = kVolume;
  return {
      {"max_pool3d", MaxPooling3D(), {volume}},
      {"max_pool3d_same",
       MaxPooling3D({3, 2, 3}, {.strides = {1, 2, 2}, .padding = "same"}),
       {volume}},
      {"average_pool3d", AveragePooling3D({2, 1, 3}), {volume}},
      {"average_pool3d_same",
       AveragePooling3D({3, 2, 3}, {.strides = {2, 2, 1}, .padding = "same"}),
       {volume}},
      {"global_average3d", GlobalAveragePooling3D(), {volume}},
      {"global_max3d", GlobalMaxPooling3D({.keepdims = true}), {volume}},
      {"adaptive_average1d", AdaptiveAveragePooling1D(4), {sequence}},
      {"adaptive_average2d", AdaptiveAveragePooling2D({2, 4}), {image}},
      {"adaptive_average3d", AdaptiveAveragePooling3D({2, 3, 4}), {volume}},
      {"adaptive_max1d", AdaptiveMaxPooling1D(4), {sequence}},
      {"adaptive_max2d", AdaptiveMaxPooling2D({3, 4}), {image}},
      {"adaptive_max3d", AdaptiveMaxPooling3D({2, 3, 6}), {volume}},
  };
}

std::vector<LayerParity> others() {
  Shape sequence = kSequence, image = kImage, volume = kVolume;
  Shape steps1 = {2, 3, 6, 2}, steps2 = {1, 3, 5, 4, 2}, steps3 = {1, 2, 3, 4, 3, 2};
  return {
      {"zero_padding2d", ZeroPadding2D({{1, 0}, {2, 3}}), {image}},
      {"zero_padding3d", ZeroPadding3D({{1, 0}, {2, 3}, {0, 1}}), {volume}},
      {"cropping2d", Cropping2D({{1, 0}, {2, 1}}), {image}},
      {"cropping3d", Cropping3D({{1, 0}, {2, 1}, {0, 3}}), {volume}},
      {"up_sampling3d", UpSampling3D({1, 2, 3}), {volume}},
      {"repeat_vector", RepeatVector(3), {{2, 5}}},
      {"identity", Identity(), {sequence}},
      {"dot_vectors", Dot(-1), {{3, 4}, {3, 4}}},
      {"dot_cosine", Dot(1, {.normalize = true}), {{3, 4}, {3, 4}}},
      {"dot_matrices", Dot({2, 1}), {{2, 3, 4}, {2, 4, 5}}},
      {"dot_first", Dot(1), {{2, 4, 3}, {2, 4, 5}}},
      {"dot_vector_matrix", Dot({1, 2}), {{2, 4}, {2, 3, 4}}},
      {"dot_tensors", Dot({2, 1}), {{2, 3, 4, 2}, {2, 4, 5}}},
      {"conv_lstm1d", ConvLSTM1D(3, 3, {.padding = "same"}), {steps1}},
      {"conv_lstm1d_valid", ConvLSTM1D(3, 2, {.strides = 2, .return_sequences = true}), {steps1}},
      {"conv_lstm2d", ConvLSTM2D(2, {3, 2}, {.return_sequences = true}), {steps2}},
      {"conv_lstm2d_backwards",
       ConvLSTM2D(2, 3,
                  {.padding = "same",
                   .recurrent_activation = "hard_sigmoid",
                   .use_bias = false,
                   .go_backwards = true}),
       {steps2}},
      {"conv_lstm3d", ConvLSTM3D(2, 2, {.padding = "same", .activation = "relu"}), {steps3}},
  };
}

using Spatial = DeviceTest;

TEST_P(Spatial, LayersHaveKerasValuesAndGradients) {
  Recording recording("spatial");
  size_t parts = 0;
  for (const auto& cases : {convolutions(), poolings(), others()})
    for (const LayerParity& one : cases) parts += compare_with_keras(recording, one, device());
  EXPECT_EQ(recording.names("layer/").size(), parts);
}

TEST_P(Spatial, SpectralNormalizationTrainsAsInKeras) {
  Recording recording("spatial");
  struct {
    const char* name;
    Layer layer;
    Shape input;
  } cases[] = {{"dense", SpectralNormalization(Dense(4)), {3, 5}},
               {"conv", SpectralNormalization(Conv2D(4, 3), {.power_iterations = 3}), kImage}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    std::string name = fmt::format("spectral/{}/", one.name);
    one.layer.base().ensure_built({one.input});
    draw_layer_weights(one.layer.weights(), recording.seed());
    Step training(device(), [&](const Values& traced) {
      Value y = one.layer(traced[0]);
      std::vector<Variable> weights = one.layer.trainable_weights();
      Values slopes = gradients(ops::sum(y * traced[1]), weights);
      for (size_t i = 0; i < weights.size(); ++i)
        weights[i].assign(Value(weights[i]) - slopes[i] * 0.125);
      return Values{y};
    });
    for (uint64_t step = 0; step < 2; ++step) {
      Expected output = recording.expected(fmt::format("{}output{}", name, step));
      EXPECT_TRUE(
          agrees(training.run({drawn(recording.seed(), kLayerInput + step, one.input),
                               drawn(recording.seed(), kLayerCotangent, output.values.shape())})[0],
                 output));
    }
    std::vector<Variable> weights = one.layer.weights();
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_TRUE(
          agrees(weights[i].read(), recording.expected(fmt::format("{}weight{}", name, i))));
  }
}

TEST_P(Spatial, ResizesWithTensorFlowsWeights) {
  Recording recording("spatial");
  Shape picture = {1, 5, 6, 2};
  size_t count = 0;
  for (std::string interpolation : {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"})
    for (bool antialias : {false, true})
      for (std::array<int64_t, 2> size :
           {std::array<int64_t, 2>{10, 12}, {15, 6}, {3, 4}, {2, 13}}) {
        if (interpolation == "nearest" && antialias) continue;
        std::string name = fmt::format("resize/{}{}_{}x{}/output", interpolation,
                                       antialias ? "_antialias" : "", size[0], size[1]);
        std::vector<Tensor> outputs = run_once(
            device(), {drawn(recording.seed(), kLayerInput, picture)}, [&](const Values& x) {
              return Values{resampled(x[0], size, {interpolation, antialias})};
            });
        EXPECT_TRUE(agrees(outputs[0], recording.expected(name)));
        ++count;
      }
  EXPECT_EQ(recording.names("resize/").size(), count);
}

INSTANTIATE_TEST_SUITE_P(Parity, Spatial, kDevices, device_name);

}  // namespace
}  // namespace stoker::spatial
