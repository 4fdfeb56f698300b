// A learning rate that is kept for five epochs and then falls by exp(-0.1) in each: as a callback of
// fit, and as a schedule that the step computes on the device. With the rate left high, the loss of
// the last epoch is higher.
#include <cmath>

#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

constexpr double kRate = 0.05;

// Points around ten centres that lie close together.
data::Dataset points() {
  Tensor x(DType::float32, {1000, 16}), y(DType::int32, {1000});
  for (int64_t row = 0; row < 1000; ++row) {
    Rng point(100, uint64_t(row)), centre(1, uint64_t(row % 10));
    y.data_mut<int32_t>()[row] = int32_t(row % 10);
    for (int64_t column = 0; column < 16; ++column)
      x.data_mut<float>()[row * 16 + column] = centre.normal() + point.normal();
  }
  return data::from_slices({x, y}).shuffle().batch(50);  // 20 steps per epoch
}

Sequential create_model(const LearningRate& rate, uint64_t seed) {
  set_seed(seed);
  Sequential model(
      {Input({16}), Dense(32, {.activation = "relu"}), Dense(10, {.activation = "softmax"})});
  model.compile(
      {.optimizer = Adam({.learning_rate = rate}), .loss = "sparse_categorical_crossentropy"});
  return model;
}

// Idea: 9 lines in Keras.
double lr_schedule(int64_t epoch, double lr) { return epoch < 5 ? lr : lr * std::exp(-0.1); }

Value lr_of_step(const Value& step) {  // the same in ops
  return kRate * ops::exp(-0.1 * ops::maximum(ops::floor(step / 20.0) - 4.0, 0.0));
}

History train(const Model& model, const std::vector<CallbackRef>& callbacks) {
  return model.fit(points(), {.epochs = 20, .verbose = 0, .callbacks = callbacks});
}
// Shown:

}  // namespace

int main() {
  std::vector<double> kept, fallen;
  History history;
  double largest_difference = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    history = train(create_model(kRate, seed), {LearningRateScheduler(lr_schedule)});
    LearningRateSchedule in_ops("lr_of_step", lr_of_step);
    double same = train(create_model(in_ops, seed), {})["loss"].back();
    kept.push_back(train(create_model(kRate, seed), {})["loss"].back());
    fallen.push_back(history["loss"].back());
    largest_difference = std::max(largest_difference, std::abs(same - fallen.back()));
  }
  std::printf("learning rate of epochs 1, 5, 6, 20: %.4f %.4f %.4f %.4f\n",
              history["learning_rate"][0], history["learning_rate"][4], history["learning_rate"][5],
              history["learning_rate"][19]);
  std::printf("loss of the last epoch, median of five seeds: %.4f falling, %.4f kept\n",
              median(fallen), median(kept));
  require(median(fallen) < median(kept), "the falling rate ends lower");
  require(largest_difference < 1e-3, "callback and schedule give the same");
}
