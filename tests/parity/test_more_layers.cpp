// Layers that no other record has, as keras_more_layers.py calls them.
#include <gtest/gtest.h>
#include <stoker/augmentation_layers.h>
#include <stoker/layers.h>
#include <stoker/pooling_layers.h>
#include <stoker/shape_layers.h>

#include "parity/comparison.h"
#include "parity/layer_cases.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

std::vector<LayerParity> more_layers() {
  const Shape flat{3, 8}, sequence{2, 6, 4}, image{2, 6, 8, 3};
  return {{"average", Average(), {flat, flat, flat}},
          {"maximum", Maximum(), {flat, flat}},
          {"minimum", Minimum(), {flat, flat}},
          {"multiply", Multiply(), {flat, flat, flat}},
          {"subtract", Subtract(), {flat, flat}},
          {"add", Add(), {flat, flat}},
          {"concatenate", Concatenate(1), {flat, flat}},
          {"elu", ELU(0.7), {flat}},
          {"leaky_relu", LeakyReLU(0.2), {flat}},
          {"relu", ReLU({.max_value = 0.8, .negative_slope = 0.1, .threshold = 0.2}), {flat}},
          {"prelu", PReLU(), {sequence}},
          {"prelu_shared", PReLU({.shared_axes = {1}}), {sequence}},
          {"softmax", Softmax(1), {sequence}},
          {"permute", Permute({2, 1}), {sequence}},
          {"reshape", Reshape({4, -1}), {sequence}},
          {"flatten", Flatten(), {sequence}},
          {"repeat_vector", RepeatVector(3), {flat}},
          {"rescaling", Rescaling(2.5, -0.5), {image}},
          {"dense", Dense(5, {.activation = "tanh"}), {sequence}},
          {"unit_normalization", UnitNormalization(), {sequence}},
          {"up_sampling_2d", UpSampling2D({2, 3}), {image}},
          {"up_sampling_2d_bilinear", UpSampling2D(2, {.interpolation = "bilinear"}), {image}},
          {"global_max_pooling_2d", GlobalMaxPooling2D({.keepdims = true}), {image}},
          {"global_average_pooling_2d", GlobalAveragePooling2D(), {image}},
          {"center_crop", CenterCrop(4, 5), {image}},
          {"resizing", Resizing(9, 5), {image}}};
}

using MoreLayers = DeviceTest;

TEST_P(MoreLayers, HaveKerasValuesAndGradients) {
  Recording recording("more_layers");
  size_t parts = 0;
  for (const LayerParity& one : more_layers())
    parts += compare_with_keras(recording, one, device());
  EXPECT_EQ(recording.names("layer/").size(), parts);
}

INSTANTIATE_TEST_SUITE_P(Parity, MoreLayers, kDevices, device_name);

}  // namespace
}  // namespace stoker
