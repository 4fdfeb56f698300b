// Keras's "Variational autoencoder": digits as two numbers, and digits made of two numbers.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

int main() {
  set_seed(1);
  Digits digits = draw_digits(1000, 1);
  data::Dataset batches = data::from_slices(digits.x).shuffle().batch(50);

  // Idea: 35 lines in Keras.
  constexpr int64_t kLatent = 2;
  Value inputs = Input({28, 28, 1});
  Value x = Conv2D(16, 3, {.strides = 2, .padding = "same", .activation = "relu"})(inputs);
  x = Conv2D(32, 3, {.strides = 2, .padding = "same", .activation = "relu"})(x);
  x = Flatten()(x);
  x = Dense(16, {.activation = "relu"})(x);
  Value z_mean = Dense(kLatent, {.name = "z_mean"})(x);
  Value z_log_var = Dense(kLatent, {.name = "z_log_var"})(x);
  Model encoder(Values{inputs}, Values{z_mean, z_log_var}, {.name = "encoder"});

  Value latent_inputs = Input({kLatent});
  x = Dense(7 * 7 * 16, {.activation = "relu"})(latent_inputs);
  x = Reshape({7, 7, 16})(x);
  x = UpSampling2D(2)(x);
  x = Conv2D(16, 3, {.padding = "same", .activation = "relu"})(x);
  x = UpSampling2D(2)(x);
  Model decoder(latent_inputs, Conv2D(1, 3, {.padding = "same"})(x), {.name = "decoder"});

  std::vector<Variable> weights = encoder.trainable_variables();
  for (const Variable& each : decoder.trainable_variables()) weights.push_back(each);
  Adam optimizer({.learning_rate = 3e-3});
  auto train_step = function([&](Value images, Value epsilon) {
    Values z = encoder.call_all({images});
    Value sampled = z[0] + ops::exp(0.5 * z[1]) * epsilon;
    Value pixels = ops::sigmoid_cross_entropy(decoder(sampled), images);
    Value reconstruction = ops::mean(ops::sum(pixels, {.axes = {1, 2, 3}}));
    Value kl = -0.5 * (1.0 + z[1] - ops::square(z[0]) - ops::exp(z[1]));
    Value loss = reconstruction + ops::mean(ops::sum(kl, {.axes = {1}}));
    optimizer.apply(gradients(loss, weights), weights);
    return loss;
  });
  Rng rng(1);
  std::vector<double> losses;
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (const Batch& batch : batches) {
      Tensor epsilon(DType::float32, {50, kLatent});
      for (int64_t i = 0; i < epsilon.elements(); ++i) epsilon.data_mut<float>()[i] = rng.normal();
      losses.push_back(train_step(batch[0], epsilon));
    }
    std::printf("epoch %d: loss %.1f\n", epoch + 1, losses.back());
  }
  utils::save_img("digit.png", decoder(Tensor::zeros({1, kLatent}))[0]);

  // Shown:
  return losses.back() < 0.7 * losses.front() ? 0 : 1;
}
