// VGG16 and VGG19: blocks of 3×3 convolutions, each halving the picture.
#include <array>

#include <fmt/format.h>

#include "jobs/applications/keras_network.h"

namespace stoker::applications {

namespace {
namespace vgg {

using Depths = std::array<int64_t, 5>;  // convolutions per block

Value block(Value x, int64_t number, int64_t convolutions) {
  int64_t filters = std::min<int64_t>(512, 64 << (number - 1));
  for (int64_t i = 1; i <= convolutions; ++i)
    x = Conv2D(filters, 3,
               {.padding = "same",
                .activation = "relu",
                .name = fmt::format("block{}_conv{}", number, i)})(x);
  return MaxPooling2D(2, {.strides = 2, .name = fmt::format("block{}_pool", number)})(x);
}

Model make(const char* function, const char* name, const Depths& depths,
           const ApplicationOptions& options) {
  Network network = start(function, name, options);
  Value x = network.input;
  for (size_t i = 0; i < depths.size(); ++i) x = block(x, int64_t(i) + 1, depths[i]);
  if (!network.options.include_top) return complete(network, pooled(network, x));
  x = Flatten({.name = "flatten"})(x);
  for (const char* dense : {"fc1", "fc2"})
    x = Dense(4096, {.activation = "relu", .name = dense})(x);
  return complete(network, predictions(network, x));
}

}  // namespace vgg
}  // namespace

Model VGG16(const ApplicationOptions& options) {
  return vgg::make("VGG16", "vgg16", {2, 2, 3, 3, 3}, options);
}
Model VGG19(const ApplicationOptions& options) {
  return vgg::make("VGG19", "vgg19", {2, 2, 4, 4, 4}, options);
}

}  // namespace stoker::applications
