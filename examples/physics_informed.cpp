// A physics-informed network: u(x, t) solves the heat equation u_t = a · u_xx on a rod of length 1
// whose ends are kept at 0, from u(x, 0) = sin(πx). The loss is the equation itself, at random
// points: derivatives of the network by its input, which the update differentiates once more.
#include <cmath>
#include <cstdio>
#include <numbers>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr double kDiffusivity = 0.1, kPi = std::numbers::pi;
constexpr int64_t kPoints = 128;

double exact(double x, double t) {
  return std::exp(-kDiffusivity * kPi * kPi * t) * std::sin(kPi * x);
}

// Points (x, t) of the unit square: [kPoints, 2]
Tensor random_points(Rng& rng) {
  Tensor points(DType::float32, {kPoints, 2});
  for (int64_t i = 0; i < points.elements(); ++i) points.data_mut<float>()[i] = rng.uniform();
  return points;
}

}  // namespace

int main() {
  set_seed(1);
  Sequential network(
      {Input({2}), Dense(24, {.activation = "tanh"}), Dense(24, {.activation = "tanh"}), Dense(1)});
  // 0 at both ends and sin(πx) at the start, whatever the network says.
  auto u = [&](const Value& points) {
    Values at = ops::split(points, 2, 1);
    Value x = at[0], t = at[1];
    return ops::sin(x * kPi) + x * (1.0 - x) * t * network(points);
  };
  // d(values)/d(points), as a column for x and one for t.
  auto slopes = [](const Value& values, const Value& points) {
    return ops::split(gradients(ops::sum(values), {points})[0], 2, 1);
  };

  Adam adam({.learning_rate = CosineDecay({.initial_learning_rate = 5e-3, .decay_steps = 1500})});
  auto train = function([&](Value points) {
    Values first = slopes(u(points), points);
    Value u_t = first[1], u_xx = slopes(first[0], points)[0];
    Value loss = ops::mean(ops::square(u_t - u_xx * kDiffusivity));
    adam.apply(gradients(loss, network.trainable_variables()), network.trainable_variables());
    return loss;
  });

  Rng rng(2);
  for (int step = 0; step <= 1500; ++step) {
    LazyTensor loss = train(random_points(rng));
    if (step % 250 == 0) std::printf("step %4d  residual %.2e\n", step, loss.item());
  }

  auto solution = function([&](Value points) { return u(points); });
  Tensor points = random_points(rng);
  Tensor found = solution(points).tensor();
  double largest = 0;
  for (int64_t row = 0; row < kPoints; ++row)
    largest = std::max(largest,
                       std::abs(found.at(row) - exact(points.at(2 * row), points.at(2 * row + 1))));
  std::printf("largest error against the exact solution: %.4f\n", largest);
  return largest < 0.01 ? 0 : 1;
}
