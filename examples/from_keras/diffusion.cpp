// Keras's "Denoising diffusion probabilistic models": digits from noise, by an average of the weights.
#include <cmath>
#include <cstdio>

#include "../digits.h"

using namespace stoker;

namespace {

constexpr int64_t kTimes = 30;

// Idea: 47 lines in Keras.
Value time_embedding(const Value& time) {
  Value rates = ops::exp(ops::arange(16) * (-std::log(10000.0) / 16));
  Value angles = ops::cast(time, DType::float32) * rates;
  return ops::concatenate({ops::sin(angles), ops::cos(angles)}, -1);
}

Value block(const Value& x, const Value& embedding, int64_t width) {
  Value y = Conv2D(width, 3, {.padding = "same"})(x);
  y = y + Reshape({1, 1, width})(Dense(width)(embedding));
  return Activation("swish")(GroupNormalization({.groups = 4})(y));
}

Model build_network() {
  Value image = Input({28, 28, 1}), time = Input({1}, {.dtype = DType::int32});
  Value embedding = Dense(32, {.activation = "swish"})(Lambda(time_embedding)(time));
  Value wide = block(image, embedding, 8);
  Value narrow = AveragePooling2D(2)(wide);
  narrow = block(narrow, embedding, 16);
  Value x = Concatenate()({UpSampling2D(2)(narrow), wide});
  x = block(x, embedding, 8);
  Value noise = Conv2D(1, 3, {.padding = "same", .kernel_initializer = "zeros"})(x);
  return {{image, time}, {noise}};
}

// How much of the picture is left at each time.
Tensor signal_shares() {
  std::vector<float> shares;
  double left = 1;
  for (int64_t time = 0; time < kTimes; ++time) {
    left *= 1 - (1e-3 + 0.25 * double(time) / kTimes);
    shares.push_back(float(left));
  }
  return Tensor::from(shares, {kTimes});
}

// Data:
}  // namespace

int main() {
  set_seed(1);
  Digits digits = draw_digits(128, 1);
  // Idea:
  Tensor pictures = digits.x * 2 - 1, shares = signal_shares();
  Model network = build_network(), average = build_network();
  average.set_weights(network.get_weights());
  Adam optimizer({.learning_rate = 2e-3});
  auto train_step = function([&](Value images) {
    Value time = ops::random::randint({images.shape()[0], 1}, 0, kTimes);
    Value share = ops::reshape(ops::take(shares, time), {-1, 1, 1, 1});
    Value noise = ops::random::normal(images.shape());
    Value noisy = ops::sqrt(share) * images + ops::sqrt(1 - share) * noise;
    Value loss = mean_squared_error(noise, network({noisy, time}));
    optimizer.apply(gradients(loss, network.trainable_variables()), network.trainable_variables());
    for (size_t i = 0; i < network.weights().size(); ++i)
      average.weights()[i].assign(0.95 * average.weights()[i] + 0.05 * network.weights()[i]);
    return loss;
  });
  std::vector<double> losses;
  for (int epoch = 0; epoch < 5; ++epoch)
    for (const Batch& batch : data::from_slices(pictures).shuffle().batch(32))
      losses.push_back(train_step(batch[0]));

  auto denoise = function([&](Value x, Value time) {
    Value now = ops::take(shares, time[0]),
          before = ops::take(shares, ops::maximum(time[0] - 1, 0));
    Value noise = average({x, ops::broadcast_to(time, {x.shape()[0], 1})}, {.training = false});
    Value picture = ops::clip((x - ops::sqrt(1 - now) * noise) / ops::sqrt(now), -1, 1);
    return ops::sqrt(before) * picture + ops::sqrt(1 - before) * noise;
  });
  Tensor drawn = compute([] { return ops::random::normal({4, 28, 28, 1}); });
  for (int time = kTimes - 1; time >= 0; --time)
    drawn = denoise(drawn, Tensor::from({time}, {1})).tensor();

  // Shown:
  utils::save_img("drawn.png", drawn[0]);
  std::printf("loss %.3f, then %.3f\n", losses.front(), losses.back());
  return losses.back() < 0.7 * losses.front() ? 0 : 1;
}
