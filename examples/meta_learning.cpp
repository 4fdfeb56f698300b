// MAML (Finn et al., 2017): weights from which one step on five points of an unknown sine wave is
// enough. The loss is that of the weights after the step, so its gradient goes through the step:
// with_values() runs the model with weights that are computed.
#include <cmath>
#include <cstdio>
#include <numbers>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kPoints = 5, kQueries = 20;
constexpr double kInnerRate = 0.05;

// Points of a sine wave with random amplitude and phase: x, y to learn from, x, y to be judged by.
struct Wave {
  Tensor x{DType::float32, {kPoints, 1}}, y{DType::float32, {kPoints, 1}};
  Tensor x_query{DType::float32, {kQueries, 1}}, y_query{DType::float32, {kQueries, 1}};

  explicit Wave(Rng& rng) {
    float amplitude = 0.5F + 2 * rng.uniform();
    float phase = rng.uniform() * std::numbers::pi_v<float>;
    auto draw = [&](Tensor& at, Tensor& value) {
      for (int64_t i = 0; i < at.elements(); ++i) {
        float point = 8 * rng.uniform() - 4;
        at.data_mut<float>()[i] = point;
        value.data_mut<float>()[i] = amplitude * std::sin(point + phase);
      }
    };
    draw(x, y);
    draw(x_query, y_query);
  }
};

}  // namespace

int main() {
  set_seed(1);
  Sequential model(
      {Input({1}), Dense(40, {.activation = "tanh"}), Dense(40, {.activation = "tanh"}), Dense(1)});
  // The loss of the queries before and after a step on the points.
  auto losses = [&](const Value& x, const Value& y, const Value& x_query, const Value& y_query) {
    std::vector<Variable> weights = model.trainable_variables();
    Values slopes = gradients(mean_squared_error(y, model(x)), weights), fast;
    for (size_t i = 0; i < weights.size(); ++i)
      fast.push_back(Value(weights[i]) - slopes[i] * kInnerRate);
    auto judged = [&] { return mean_squared_error(y_query, model(x_query)); };
    return Values{judged(), with_values(weights, fast, judged)};
  };

  Adam adam({.learning_rate = 2e-3});
  auto meta_step = function([&](Value x, Value y, Value x_query, Value y_query) {
    Value after = losses(x, y, x_query, y_query)[1];
    adam.apply(gradients(after, model.trainable_variables()), model.trainable_variables());
  });
  Rng rng(1);
  for (int step = 0; step < 8000; ++step) {
    Wave wave(rng);
    meta_step(wave.x, wave.y, wave.x_query, wave.y_query);
  }

  auto judge = function(losses, {.training = false});
  double before = 0, after = 0;
  constexpr int kWaves = 100;
  for (int i = 0; i < kWaves; ++i) {
    Wave wave(rng);
    auto both = judge(wave.x, wave.y, wave.x_query, wave.y_query);
    before += both[0].item() / kWaves;
    after += both[1].item() / kWaves;
  }
  std::printf("error on new waves: %.2f before the step, %.2f after one step on %d points\n",
              before, after, int(kPoints));
  return after < 0.7 * before ? 0 : 1;
}
