// A layer with what it is called with, and those that ONNX Runtime runs.
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
  return {
      {Conv2DTranspose(4, {3, 2}, {.strides = {2, 3}, .padding = "same", .activation = "relu"}),
       {5, 4, 2}},
      {Conv2DTranspose(4, 2, {.strides = 3, .use_bias = false}), {5, 4, 2}},
      {Conv3D(4, {3, 2, 1}, {.strides = {2, 1, 1}, .padding = "same", .groups = 2}), {5, 4, 3, 2}},
      {Conv3D(4, 2, {.dilation_rate = 2, .activation = "relu"}), {5, 4, 3, 2}},
      {Conv3DTranspose(4, 3, {.strides = 2, .padding = "same"}), {3, 4, 2, 2}},
      {MaxPooling3D({2, 3, 1}, {.strides = {1, 2, 1}, .padding = "same"}), {5, 4, 3, 2}},
      {AveragePooling3D({2, 3, 1}, {.padding = "same"}), {5, 4, 3, 2}},
      {GlobalAveragePooling3D(), {5, 4, 3, 2}},
      {GlobalMaxPooling3D(), {5, 4, 3, 2}},
      {AdaptiveAveragePooling1D(3), {5, 2}},
      {AdaptiveAveragePooling2D({3, 2}), {5, 4, 2}},
      {AdaptiveAveragePooling3D({3, 2, 1}), {5, 4, 3, 2}},
      {AdaptiveMaxPooling1D(3), {5, 2}},
      {AdaptiveMaxPooling2D({3, 2}), {5, 4, 2}},
      {AdaptiveMaxPooling3D({3, 2, 1}), {5, 4, 3, 2}},
      {ZeroPadding3D({{1, 0}, {2, 1}, {0, 3}}), {3, 2, 2, 2}},
      {Cropping3D({{1, 0}, {0, 1}, {1, 1}}), {3, 2, 3, 2}},
      {UpSampling2D({2, 3}, {.interpolation = "bilinear"}), {4, 3, 2}},
      {UpSampling2D(2, {.interpolation = "lanczos3"}), {4, 3, 2}},
      {UpSampling3D({1, 2, 3}), {3, 2, 2, 2}},
      {Identity(), {4, 2}},
      {RepeatVector(3), {4}},
      {Dot({2, 1}, {.normalize = true}), {4, 4}, 2},
      {GaussianNoise(0.5), {4, 2}},
      {GaussianDropout(0.5), {4, 2}},
      {AlphaDropout(0.25), {4, 2}},
      {SpatialDropout1D(0.5), {4, 2}},
      {SpatialDropout2D(0.5), {4, 3, 2}},
      {SpatialDropout3D(0.5), {4, 3, 2, 2}},
      {CategoryEncoding(4, {.output_mode = "count"}), {3}, 1, DType::int32},
      {CategoryEncoding(4), {3}, 1, DType::int32},
      {Discretization({.bin_boundaries = {-0.5, 0.25}, .output_mode = "one_hot"}), {3}},
      {ActivityRegularization({.l1 = 0.5}), {4}},
      {Resizing(4, 7, {.interpolation = "bicubic"}), {6, 5, 3}},
      {CenterCrop(4, 3), {6, 5, 3}},
      {RandomCrop(4, 3), {6, 5, 3}},
      {RandomFlip(), {6, 5, 3}},
      {RandomRotation(0.1), {6, 5, 3}},
      {RandomTranslation(0.1, 0.1), {6, 5, 3}},
      {RandomZoom(0.1), {6, 5, 3}},
      {RandomShear(0.1), {6, 5, 3}},
      {RandomPerspective(), {6, 5, 3}},
      {RandomBrightness(0.1), {6, 5, 3}},
      {RandomContrast(0.1), {6, 5, 3}},
      {RandomHue(0.1), {6, 5, 3}},
      {RandomSaturation(0.1), {6, 5, 3}},
      {RandomColorDegeneration(0.1), {6, 5, 3}},
      {RandomSharpness(0.1), {6, 5, 3}},
      {RandomInvert(), {6, 5, 3}},
      {RandomPosterization(4), {6, 5, 3}},
      {RandomGrayscale(), {6, 5, 3}},
      {Solarization(), {6, 5, 3}},
      {Equalization(), {6, 5, 3}},
      {RandomGaussianBlur(), {6, 5, 3}},
      {RandomErasing(), {6, 5, 3}},
      {RandomColorJitter({.hue_factor = 0.1}), {6, 5, 3}},
      {RandAugment(), {6, 5, 3}, 1, DType::uint8},
      {AugMix(), {6, 5, 3}, 1, DType::uint8},
      {RandomElasticTransform(), {6, 5, 3}},
      {STFTSpectrogram({.frame_length = 6}), {12, 2}},
      {MelSpectrogram(
           {.fft_length = 16, .sequence_stride = 4, .sampling_rate = 1000, .num_mel_bins = 3}),
       {40}},
      {MixUp(), {6, 5, 3}},
      {CutMix(), {6, 5, 3}},
      {SpectralNormalization(Dense(3)), {4}},
  };
}

}  // namespace stoker::test
