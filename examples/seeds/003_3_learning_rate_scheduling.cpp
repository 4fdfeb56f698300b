// Seed 003, block 3: LearningRateScheduler(lr_schedule) as a callback of fit, the rate kept for
// five epochs and then multiplied by exp(-0.1) in each. Below it the same curve as a schedule,
// which the step computes on the device.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

double lr_schedule(int64_t epoch, double lr) { return epoch < 5 ? lr : lr * std::exp(-0.1); }

// Points around ten centres.
data::Dataset dataset() {
  Tensor x(DType::float32, {1000, 16}), y(DType::int64, {1000});
  for (int64_t row = 0; row < 1000; ++row) {
    int64_t label = row % 10;
    Rng point(uint64_t(row) + 100), centre{uint64_t(label)};
    y.data_mut<int64_t>()[row] = label;
    for (int64_t column = 0; column < 16; ++column)
      x.data_mut<float>()[row * 16 + column] = centre.normal() + 0.3F * point.normal();
  }
  return data::from_slices({x, y}).shuffle().batch(50).prefetch(AUTOTUNE);
}

Sequential compiled(const LearningRate& rate) {
  set_seed(7);
  Sequential model(
      {Input({16}), Dense(32, {.activation = "relu"}), Dense(10, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = rate}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

}  // namespace

int main() {
  LearningRateScheduler lr_scheduler(lr_schedule);
  Sequential model = compiled(0.01);
  History history = model.fit(dataset(), {.epochs = 20, .callbacks = {lr_scheduler}});

  // An own schedule, in ops: 20 steps are an epoch.
  LearningRateSchedule same("lr_schedule", [](const Value& step) {
    Value epoch = ops::floor(step / 20.0);
    return 0.01 * ops::exp(-0.1 * ops::maximum(epoch - 4.0, 0.0));
  });
  Sequential scheduled = compiled(same);
  History again = scheduled.fit(dataset(), {.epochs = 20, .verbose = 0});

  std::printf("learning rate of epochs 1, 5, 6, 20: %.5f %.5f %.5f %.5f\n",
              history["learning_rate"][0], history["learning_rate"][4], history["learning_rate"][5],
              history["learning_rate"][19]);
  double difference = std::abs(history["loss"].back() - again["loss"].back());
  std::printf(
      "accuracy %.3f with the callback, %.3f with the schedule; the losses differ by %.1e\n",
      history["accuracy"].back(), again["accuracy"].back(), difference);
  bool good = history["accuracy"].back() > 0.95 && difference < 1e-3 &&
              std::abs(history["learning_rate"][19] - 0.01 * std::exp(-1.5)) < 1e-7;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
