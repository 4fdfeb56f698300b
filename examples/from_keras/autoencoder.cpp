// Keras's "Convolutional autoencoder for image denoising": what is noise and what is a digit.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

namespace {

Tensor noisy(const Tensor& x) {
  Tensor out(DType::float32, x.shape());
  Rng rng(7);
  for (int64_t i = 0; i < x.elements(); ++i)
    out.data_mut<float>()[i] = std::clamp(float(x.at(i)) + 0.4F * rng.normal(), 0.0F, 1.0F);
  return out;
}

}  // namespace

int main() {
  set_seed(1);
  Digits digits = draw_digits(600, 1);
  Tensor noise = noisy(digits.x);

  // Idea: 15 lines in Keras.
  Value input = Input({28, 28, 1});
  Value x = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(input);
  x = MaxPooling2D(2)(x);
  x = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(x);
  x = MaxPooling2D(2)(x);

  x = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(x);
  x = UpSampling2D(2)(x);
  x = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(x);
  x = UpSampling2D(2)(x);
  x = Conv2D(1, 3, {.padding = "same", .activation = "sigmoid"})(x);

  Model autoencoder(input, x);
  autoencoder.compile({.optimizer = Adam({.learning_rate = 5e-3}), .loss = "binary_crossentropy"});
  autoencoder.fit(noise, digits.x, {.epochs = 4, .validation_split = 0.2});
  Tensor predictions = autoencoder.predict(noise);
  utils::save_img("denoised.png", predictions[0]);

  // Shown:
  auto distance = [&](const Tensor& a) {
    Tensor d = a - digits.x;
    return (d * d).mean();
  };
  std::printf("squared error: %.4f with noise, %.4f without\n", distance(noise),
              distance(predictions));
  return distance(predictions) < 0.6 * distance(noise) ? 0 : 1;
}
