// Keras's "Grad-CAM class activation visualization": which pixels decided.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

int main() {
  set_seed(1);
  Digits digits = draw_digits(800, 1);
  Value input = Input({28, 28, 1});
  Value features = Conv2D(16, 5, {.activation = "relu", .name = "last_conv"})(input);
  Model model(input, Dense(10)(GlobalMaxPooling2D()(features)));
  model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(digits.x, digits.y, {.epochs = 4, .verbose = 2});

  // Idea: 12 lines in Keras.
  Model grad_model(model.inputs(), Values{model.output_of("last_conv"), model.outputs()[0]});
  auto heatmap_of = function(
      [&](Value image) {
        Values outputs = grad_model.call_all({image});
        Value score = ops::sum(ops::max(outputs[1], {.axes = {1}}));
        Value grads = gradients(score, {outputs[0]})[0];
        Value weights = ops::mean(grads, {.axes = {1, 2}, .keepdims = true});
        Value heatmap = ops::relu(ops::sum(outputs[0] * weights, {.axes = {-1}}));
        return heatmap / ops::max(heatmap);
      },
      {.training = false});
  Tensor heatmap = heatmap_of(digits.x.slice(0, 1)).tensor()[0];
  utils::save_img("heatmap.png", heatmap);

  // Shown:
  std::printf("heatmap %s in heatmap.png\n", to_string(heatmap.shape()).c_str());
  return heatmap.max() == 1 && heatmap.min() >= 0 ? 0 : 1;
}
