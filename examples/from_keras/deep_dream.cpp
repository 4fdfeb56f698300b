// Keras's "Deep Dream": a picture changes until a layer is as excited as it can be.
#include <cstdio>

#include "../pictures.h"

using namespace stoker;

int main() {
  set_seed(1);
  Tensor picture = draw_float_pictures(1, 64).x;

  // Idea: 18 lines in Keras.
  Model model =
      applications::MobileNetV2({.input_shape = {64, 64, 3}, .alpha = 0.35, .include_top = false});
  Model feature_extractor(model.inputs(), Values{model.output_of("block_5_add")});
  Variable image("image", picture * 2 - 1);
  auto gradient_ascent_step = function(
      [&](Value learning_rate) {
        Value activation = feature_extractor(Value(image));
        Value loss = ops::mean(ops::square(activation));
        Value grads = gradients(loss, {Value(image)})[0];
        grads = grads / ops::maximum(ops::max(ops::abs(grads)), 1e-30);
        image.assign_add(learning_rate * grads);
        return loss;
      },
      {.training = false});
  double first = gradient_ascent_step(Tensor(0.1F)), last = first;
  for (int i = 0; i < 20; ++i) last = gradient_ascent_step(Tensor(0.1F));
  utils::save_img("dream.png", image.read()[0]);

  // Shown:
  std::printf("mean square of the layer: %.3g, then %.3g\n", first, last);
  return last > 2 * first ? 0 : 1;
}
