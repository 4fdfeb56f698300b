// Keras's "Density estimation using Real NVP": two moons become a normal distribution.
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

Tensor two_moons(int64_t count) {
  Rng rng(1);
  std::vector<float> points;
  for (int64_t i = 0; i < count; ++i) {
    float angle = rng.uniform(0, 3.14159F), sign = i % 2 == 0 ? 1.0F : -1.0F;
    float x = sign * std::cos(angle) + (sign < 0 ? 1.0F : 0.0F);
    float y = sign * std::sin(angle) + (sign < 0 ? 0.5F : 0.0F);
    points.insert(points.end(),
                  {x + 0.05F * rng.normal() - 0.5F, y + 0.05F * rng.normal() - 0.25F});
  }
  return Tensor::from(points, {count, 2});
}

}  // namespace

int main() {
  set_seed(1);
  Tensor points = two_moons(512);

  // Idea: 30 lines in Keras.
  auto coupling = [] {
    Value in = Input({2});
    Value shift = Dense(32, {.activation = "relu", .kernel_regularizer = L2(0.01)})(in);
    shift = Dense(2, {.kernel_regularizer = L2(0.01)})(Dense(32, {.activation = "relu"})(shift));
    Value scale = Dense(32, {.activation = "relu", .kernel_regularizer = L2(0.01)})(in);
    scale = Dense(2, {.activation = "tanh"})(Dense(32, {.activation = "relu"})(scale));
    return Model(Values{in}, Values{scale, shift});
  };
  constexpr int kLayers = 6;
  std::vector<Model> networks;
  std::vector<Variable> weights;
  for (int i = 0; i < kLayers; ++i) {
    networks.push_back(coupling());
    for (const Variable& each : networks.back().trainable_variables()) weights.push_back(each);
  }
  Adam optimizer({.learning_rate = 1e-3});
  auto train_step = function([&](Value x) {
    Value log_det = 0.0;
    for (int i = kLayers - 1; i >= 0; --i) {
      Tensor mask = Tensor::from({float(i % 2), float((i + 1) % 2)}, {2}), rest = 1 - mask;
      Values made = networks[size_t(i)].call_all({x * mask});
      Value scale = made[0] * rest, shift = made[1] * rest;
      x = x * mask + rest * ((x - shift) * ops::exp(-scale));
      log_det -= ops::sum(scale, {.axes = {1}});
    }
    Value log_likelihood =
        -0.5 * ops::sum(ops::square(x), {.axes = {1}}) - std::log(2 * 3.14159265);
    Value loss = -ops::mean(log_likelihood + log_det);
    optimizer.apply(gradients(loss, weights), weights);
    return loss;
  });
  double first = 0, last = 0;
  for (int epoch = 0; epoch < 60; ++epoch)
    for (const Batch& batch : data::from_slices(points).shuffle().batch(128)) {
      last = train_step(batch[0]);
      if (first == 0) first = last;
    }

  // Shown:
  std::printf("negative log-likelihood %.2f, then %.2f\n", first, last);
  return last < first - 0.5 ? 0 : 1;
}
