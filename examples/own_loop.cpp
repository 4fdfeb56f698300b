// An own training loop: a step is a function of Values, traced once and then only run. Here a
// generator of points and a judge of them train against each other, which fit() has no words for.
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kBatch = 64;

// Points on a circle: [kBatch, 2]
Tensor real_points(Rng& rng) {
  Tensor points(DType::float32, {kBatch, 2});
  for (int row = 0; row < kBatch; ++row) {
    float angle = rng.uniform(0, 6.2832F);
    points.data_mut<float>()[2 * row] = std::cos(angle);
    points.data_mut<float>()[2 * row + 1] = std::sin(angle);
  }
  return points;
}

Tensor noise(Rng& rng) {
  Tensor values(DType::float32, {kBatch, 4});
  for (int64_t i = 0; i < values.elements(); ++i) values.data_mut<float>()[i] = rng.normal();
  return values;
}

// Mean distance of points from the circle.
double distance(const Tensor& points) {
  double sum = 0;
  for (int64_t row = 0; row < points.shape()[0]; ++row)
    sum += std::abs(std::hypot(points.at(2 * row), points.at(2 * row + 1)) - 1);
  return sum / double(points.shape()[0]);
}

}  // namespace

int main() {
  set_seed(5);
  Sequential generator(
      {Input({4}), Dense(32, {.activation = "tanh"}), Dense(32, {.activation = "tanh"}), Dense(2)});
  Sequential judge({Input({2}), Dense(32, {.activation = "leaky_relu"}),
                    Dense(32, {.activation = "leaky_relu"}), Dense(1)});
  Adam generator_optimizer({.learning_rate = 1e-3, .beta_1 = 0.5}),
      judge_optimizer({.learning_rate = 2e-3, .beta_1 = 0.5});

  auto train_judge = function([&](Value real, Value z) {
    Value on_real = ops::softplus(-judge(real));
    Value on_fake = ops::softplus(judge(ops::stop_gradient(generator(z))));
    Value loss = ops::mean(on_real) + ops::mean(on_fake);
    judge_optimizer.apply(gradients(loss, judge.trainable_variables()),
                          judge.trainable_variables());
    return loss;
  });
  auto train_generator = function([&](Value z) {
    Value loss = ops::mean(ops::softplus(-judge(generator(z))));
    generator_optimizer.apply(gradients(loss, generator.trainable_variables()),
                              generator.trainable_variables());
    return loss;
  });

  Rng rng(1);
  double before = distance(generator(noise(rng)));
  for (int step = 0; step < 1500; ++step) {
    LazyTensor judged = train_judge(real_points(rng), noise(rng));
    LazyTensor fooled = train_generator(noise(rng));
    if (step % 250 == 0)  // only here is anything read
      std::printf("step %4d  judge %.3f  generator %.3f\n", step, judged.item(), fooled.item());
  }
  double after = distance(generator(noise(rng)));
  std::printf("mean distance from the circle: %.3f before, %.3f after\n", before, after);
  return after < 0.5 * before ? 0 : 1;
}
