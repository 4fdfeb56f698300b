// A profiler around the training finds the layer that takes the time; what it wrote opens in
// TensorBoard. The layer is then replaced by a depthwise separable convolution, and the epoch is
// timed again.
#include "../digits.h"
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

Sequential network(const Layer& middle) {
  set_seed(1);
  return compiled(
      Sequential({Input({28, 28, 1}), Conv2D(32, 3, {.activation = "relu", .name = "first"}),
                  middle, MaxPooling2D(2), Conv2D(16, 3, {.activation = "relu", .name = "last"}),
                  Flatten(), Dense(10, {.activation = "softmax", .name = "classes"})}));
}

}  // namespace

int main() {
  Digits digits = draw_digits(256, 1);
  auto train = data::from_slices({digits.x, digits.y}).shuffle().batch(32);
  Sequential model = network(Conv2D(64, 5, {.activation = "relu", .name = "middle"}));
  model.fit(train, {.verbose = 0});  // compiles the step

  // Idea: 3 lines in Keras.
  profiler::start("logs");
  model.fit(train, {.verbose = 0});
  Profile profile = profiler::stop();
  // Shown: tensorboard --logdir logs, page Profile

  std::vector<LayerProfile> layers = profile.steps.at(0).layers;
  std::ranges::sort(layers, std::ranges::greater(), &LayerProfile::seconds);
  double all = profile.steps[0].op_seconds;
  for (const LayerProfile& layer : layers)
    if (layer.seconds() > 0.005 * all)
      std::printf("%-16s %8.3f ms of a step, %3.0f %%\n", layer.layer.c_str(),
                  1e3 * layer.seconds(), 100 * layer.seconds() / all);
  for (const std::string& file : profile.files) std::printf("wrote %s\n", file.c_str());
  std::printf("\nthe slowest layer is \"%s\"\n", layers.at(0).layer.c_str());

  Sequential mended = network(SeparableConv2D(64, 5, {.activation = "relu", .name = "middle"}));
  compare({"an epoch with Conv2D", [&] { model.fit(train, {.verbose = 0}); }},
          {"an epoch with SeparableConv2D", [&] { mended.fit(train, {.verbose = 0}); }}, 3);
}
