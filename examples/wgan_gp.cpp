// WGAN-GP: a generator of points learns eight clusters on a circle. The critic's loss holds the
// norm of its gradient by its input, so its update needs second derivatives. One function holds the
// whole step: the generator trains against the critic as the updates before it left it.
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kBatch = 128, kNoise = 4;
constexpr int kClusters = 8, kCriticSteps = 3;
constexpr double kSpread = 0.05;

Tensor drawn(Rng& rng, const Shape& shape) {
  Tensor values(DType::float32, shape);
  for (int64_t i = 0; i < values.elements(); ++i) values.data_mut<float>()[i] = rng.normal();
  return values;
}

double angle_of(int64_t cluster) { return 2 * std::numbers::pi * double(cluster) / kClusters; }

// [kCriticSteps · kBatch, 2]
Tensor real_points(Rng& rng) {
  Tensor points = drawn(rng, {kCriticSteps * kBatch, 2});
  float* at = points.data_mut<float>();
  for (int64_t row = 0; row < points.shape()[0]; ++row) {
    double angle = angle_of(rng.integer(0, kClusters));
    at[2 * row] = float(std::cos(angle) + kSpread * at[2 * row]);
    at[2 * row + 1] = float(std::sin(angle) + kSpread * at[2 * row + 1]);
  }
  return points;
}

struct Fit {
  double distance = 0;  // of a point from the nearest centre, in the mean
  int clusters = 0;     // that get at least half of their share of the points
};

Fit fit_of(const Tensor& points) {
  Fit fit;
  std::array<int, kClusters> members{};
  int64_t rows = points.shape()[0];
  for (int64_t row = 0; row < rows; ++row) {
    double best = 1e9;
    int nearest = 0;
    for (int i = 0; i < kClusters; ++i) {
      double d = std::hypot(points.at(2 * row) - std::cos(angle_of(i)),
                            points.at(2 * row + 1) - std::sin(angle_of(i)));
      if (d < best) nearest = i;
      best = std::min(best, d);
    }
    ++members[size_t(nearest)];
    fit.distance += best / double(rows);
  }
  for (int count : members) fit.clusters += count * kClusters * 2 >= rows;
  return fit;
}

}  // namespace

int main() {
  set_seed(3);
  Sequential generator({Input({kNoise}), Dense(48, {.activation = "relu"}),
                        Dense(48, {.activation = "relu"}), Dense(2)});
  Sequential critic({Input({2}), Dense(48, {.activation = "leaky_relu"}),
                     Dense(48, {.activation = "leaky_relu"}), Dense(1)});
  Adam generator_adam({.learning_rate = 1e-3, .beta_1 = 0.5, .beta_2 = 0.9});
  Adam critic_adam({.learning_rate = 2e-3, .beta_1 = 0.5, .beta_2 = 0.9});

  // |d(critic)/d(point)| is to be 1 on the lines between real and generated points.
  auto penalty = [&](const Value& points) {
    Value slopes = gradients(ops::sum(critic(points)), {points})[0];
    Value norms = ops::sqrt(ops::sum(ops::square(slopes), {.axes = {1}}) + 1e-12);
    return ops::mean(ops::square(norms - 1.0));
  };
  auto train = function([&](Value real, Value noise, Value mix) {
    Values reals = ops::split(real, kCriticSteps, 0), noises = ops::split(noise, kCriticSteps, 0),
           mixes = ops::split(mix, kCriticSteps, 0);
    Value distance;
    for (size_t i = 0; i < kCriticSteps; ++i) {
      Value fake = ops::stop_gradient(generator(noises[i]));
      distance = ops::mean(critic(reals[i])) - ops::mean(critic(fake));
      Value between = fake + mixes[i] * (reals[i] - fake);
      Value loss = penalty(between) * 0.5 - distance;
      critic_adam.apply(gradients(loss, critic.trainable_variables()),
                        critic.trainable_variables());
    }
    Value loss = -ops::mean(critic(generator(noises[0])));
    generator_adam.apply(gradients(loss, generator.trainable_variables()),
                         generator.trainable_variables());
    return distance;
  });

  Rng rng(1);
  Tensor probe = drawn(rng, {1024, kNoise});
  Fit before = fit_of(generator(probe)), after;
  for (int step = 0; step <= 2500; ++step) {
    Tensor mix(DType::float32, {kCriticSteps * kBatch, 1});
    for (int64_t i = 0; i < mix.elements(); ++i) mix.data_mut<float>()[i] = rng.uniform();
    Tensor real = real_points(rng), noise = drawn(rng, {kCriticSteps * kBatch, kNoise});
    LazyTensor distance = train(real, noise, mix);
    if (step % 500 != 0) continue;
    after = fit_of(generator(probe));
    std::printf("step %4d  Wasserstein distance %.3f  %d of %d clusters, %.3f from their centres\n",
                step, distance.item(), after.clusters, kClusters, after.distance);
  }
  return after.clusters >= 7 && after.distance < 0.4 * before.distance ? 0 : 1;
}
