// Keras's "Image Super-Resolution using an Efficient Sub-Pixel CNN": pictures of any size, three times as large.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

int main() {
  set_seed(1);
  Digits digits = draw_digits(400, 1);
  Tensor large = compute([&] { return ops::image::resize(digits.x, {27, 27}); });
  Tensor small = compute([&] { return ops::image::resize(large, {9, 9}, {.antialias = true}); });

  // Idea: 20 lines in Keras.
  constexpr int64_t kUpscale = 3;
  Conv2DOptions like{.padding = "same", .activation = "relu", .kernel_initializer = "orthogonal"};
  Value inputs = Input({-1, -1, 1});
  Value x = Conv2D(32, 5, like)(inputs);
  x = Conv2D(32, 3, like)(x);
  x = Conv2D(16, 3, like)(x);
  x = Conv2D(kUpscale * kUpscale, 3, like)(x);
  Model model(inputs, ops::depth_to_space(x, kUpscale));

  std::vector<double> psnr;
  LambdaCallback watch({.on_epoch_end = [&](int64_t epoch, const Logs& logs) {
    psnr.push_back(10 * std::log10(1 / logs["val_loss"]));
    std::printf("epoch %d: mean PSNR %.2f\n", int(epoch) + 1, psnr.back());
  }});
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}), .loss = MeanSquaredError()});
  model.fit(small, large,
            {.epochs = 12,
             .validation_split = 0.2,
             .verbose = 0,
             .callbacks = {watch, EarlyStopping({.monitor = "loss", .patience = 10})}});
  Tensor wide = model.predict(Tensor::zeros({1, 20, 33, 1}));  // another size, the same model
  utils::save_img("enlarged.png", model.predict(small.slice(0, 1))[0]);

  // Shown:
  Tensor plain = compute([&] { return ops::image::resize(small, {27, 27}) - large; });
  double of_resize = 10 * std::log10(1 / (plain * plain).mean());
  std::printf("PSNR %.2f by interpolation, %.2f by the model\n", of_resize, psnr.back());
  return psnr.back() > of_resize && wide.shape() == Shape{1, 60, 99, 1} ? 0 : 1;
}
