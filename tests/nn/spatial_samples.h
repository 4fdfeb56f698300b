// A layer with what it is called with, and those that are made again from their configuration.
#pragma once

#include <vector>

#include <stoker/layers.h>

namespace stoker::test {

struct Sample {
  Layer layer;
  Shape input;
  int inputs = 1;
  DType dtype = DType::float32;
};

// Layers of volumes, and those beside the usual ones.
inline std::vector<Sample> spatial_samples() {
  Initializer seeded = GlorotUniform({.seed = 1}), other = Orthogonal(1, {.seed = 2});
  return {
      {Conv2DTranspose(4, {3, 2},
                       {.strides = {3, 2},
                        .padding = "same",
                        .output_padding = Size2(2, 1),
                        .activation = "relu",
                        .kernel_initializer = seeded}),
       {5, 4, 2}},
      {Conv2DTranspose(4, 3, {.dilation_rate = 2, .kernel_initializer = seeded}), {5, 4, 2}},
      {Conv3D(4, {3, 2, 1},
              {.strides = {2, 1, 1},
               .padding = "same",
               .dilation_rate = {1, 2, 1},
               .groups = 2,
               .kernel_initializer = seeded,
               .kernel_regularizer = L2(0.5)}),
       {5, 4, 3, 2}},
      {Conv3DTranspose(4, 3,
                       {.strides = 2,
                        .output_padding = Size3(1, 0, 1),
                        .use_bias = false,
                        .kernel_initializer = seeded}),
       {3, 4, 2, 2}},
      {MaxPooling3D({2, 3, 1}, {.strides = {1, 2, 1}, .padding = "same"}), {5, 4, 3, 2}},
      {AveragePooling3D(2), {5, 4, 3, 2}},
      {GlobalAveragePooling3D({.keepdims = true}), {5, 4, 3, 2}},
      {GlobalMaxPooling3D(), {5, 4, 3, 2}},
      {AdaptiveAveragePooling1D(3), {5, 2}},
      {AdaptiveAveragePooling2D({3, 2}), {5, 4, 2}},
      {AdaptiveAveragePooling3D({3, 2, 1}), {5, 4, 3, 2}},
      {AdaptiveMaxPooling1D(3), {5, 2}},
      {AdaptiveMaxPooling2D({3, 2}), {5, 4, 2}},
      {AdaptiveMaxPooling3D({3, 2, 1}), {5, 4, 3, 2}},
      {ZeroPadding3D({{1, 0}, {2, 1}, {0, 3}}), {3, 2, 2, 2}},
      {Cropping3D({{1, 0}, {0, 1}, {1, 1}}), {3, 2, 3, 2}},
      {UpSampling2D({2, 3}, {.interpolation = "bicubic"}), {4, 3, 2}},
      {UpSampling3D({1, 2, 3}), {3, 2, 2, 2}},
      {Identity(), {4, 2}},
      {RepeatVector(3), {4}},
      {Dot({2, 1}, {.normalize = true}), {4, 4}, 2},
      {GaussianNoise(0.5), {4, 2}},
      {GaussianDropout(0.5), {4, 2}},
      {AlphaDropout(0.25, {.noise_shape = {-1, 1, -1}}), {4, 2}},
      {SpatialDropout1D(0.5), {4, 2}},
      {SpatialDropout2D(0.5), {4, 3, 2}},
      {SpatialDropout3D(0.5), {4, 3, 2, 2}},
      {CategoryEncoding(4, {.output_mode = "count"}), {3}, 1, DType::int32},
      {Discretization({.bin_boundaries = {-0.5, 0.25}, .output_mode = "one_hot"}), {3}},
      {ActivityRegularization({.l1 = 0.5, .l2 = 0.25}), {4}},
      {Resizing(4, 7, {.interpolation = "lanczos3", .antialias = true}), {6, 5, 3}},
      {CenterCrop(4, 3), {6, 5, 3}},
      {RandomCrop(4, 3), {6, 5, 3}},
      {RandomFlip("vertical"), {6, 5, 3}},
      {RandomRotation({-0.1, 0.2}, {.fill_mode = "wrap", .interpolation = "nearest"}), {6, 5, 3}},
      {RandomTranslation(0.1, {0.1, 0.3}, {.fill_mode = "constant", .fill_value = 3}), {6, 5, 3}},
      {RandomZoom(0.1, {.width_factor = Factor(0.2, 0.3)}), {6, 5, 3}},
      {RandomShear(0.1, 0.2), {6, 5, 3}},
      {RandomPerspective({.factor = {0.5, 1}, .scale = 0.25}), {6, 5, 3}},
      {RandomBrightness(0.1, {.value_range = {0, 1}}), {6, 5, 3}},
      {RandomContrast({0.1, 0.2}), {6, 5, 3}},
      {RandomHue(0.1), {6, 5, 3}},
      {RandomSaturation(0.1), {6, 5, 3}},
      {RandomColorDegeneration(0.1), {6, 5, 3}},
      {RandomSharpness(0.1), {6, 5, 3}},
      {RandomInvert(0.5), {6, 5, 3}},
      {RandomPosterization({2, 6}), {6, 5, 3}},
      {RandomGrayscale(0.25), {6, 5, 3}},
      {Solarization({.addition_factor = 0.2, .threshold_factor = 0.5}), {6, 5, 3}},
      {AutoContrast({.value_range = {-1, 1}}), {6, 5, 3}},
      {Equalization({.bins = 16}), {6, 5, 3}},
      {RandomGaussianBlur({.kernel_size = {3, 5}, .sigma = 0.5}), {6, 5, 3}},
      {RandomErasing({.scale = 0.5, .fill_value = 1.0}), {6, 5, 3}},
      {RandomColorJitter({.contrast_factor = 0.1, .hue_factor = 0.2}), {6, 5, 3}},
      {RandAugment({.num_ops = 1, .factor = 0.25}), {6, 5, 3}},
      {MixUp(0.5), {6, 5, 3}},
      {CutMix({0.5, 1}), {6, 5, 3}},
      {ConvLSTM1D(3, 2,
                  {.padding = "same",
                   .kernel_initializer = seeded,
                   .recurrent_initializer = other,
                   .dropout = 0.5}),
       {3, 4, 2}},
      {ConvLSTM2D(3, {2, 1},
                  {.strides = {2, 1},
                   .kernel_initializer = seeded,
                   .recurrent_initializer = other,
                   .recurrent_dropout = 0.5,
                   .return_sequences = true}),
       {3, 4, 2, 2}},
      {ConvLSTM3D(2, 2,
                  {.recurrent_activation = "hard_sigmoid",
                   .kernel_initializer = seeded,
                   .recurrent_initializer = other,
                   .unit_forget_bias = false,
                   .go_backwards = true}),
       {2, 3, 2, 3, 2}},
  };
}

}  // namespace stoker::test
