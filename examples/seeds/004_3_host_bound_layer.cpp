// Seed 004, block 3: a custom layer that computes on the host, and the same layer made of ops. A
// HostLayer's input leaves the device and its output comes back in every step, forwards and
// backwards, and the captured step is cut in two. The op runs where the data is.
#include <chrono>
#include <cmath>

#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kSamples = 512, kSide = 64;

// np.sin of the seed, with the gradient that training needs.
Layer slow_layer() {
  return HostLayer(
      [](const Tensor& x, Tensor& y) {
        for (int64_t i = 0; i < x.elements(); ++i)
          y.data_mut<float>()[i] = std::sin(x.data<float>()[i]);
      },
      [](const Tensor& x, const Tensor&, const Tensor& dy, Tensor& dx) {
        for (int64_t i = 0; i < x.elements(); ++i)
          dx.data_mut<float>()[i] = dy.data<float>()[i] * std::cos(x.data<float>()[i]);
      },
      {.name = "slow_layer"});
}

Layer op_layer() {
  return Lambda([](const Value& x) { return ops::sin(x); }, {.name = "op_layer"});
}

struct Run {
  double seconds, loss;
};

Run train(const Layer& layer, const Tensor& images, const Tensor& labels) {
  set_seed(1);
  Sequential model({Input({kSide, kSide, 3}), Conv2D(32, 3, {.activation = "relu"}), layer,
                    Flatten(), Dense(10, {.activation = "softmax"})});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  model.fit(images, labels, {.epochs = 1, .batch_size = 32, .verbose = 0});  // compiles the step
  auto begin = std::chrono::steady_clock::now();
  History history = model.fit(images, labels, {.epochs = 2, .batch_size = 32, .verbose = 0});
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return {time.count(), history["loss"].back()};
}

}  // namespace

int main() {
  default_context().device = "auto";  // a GPU where there is one
  Tensor images(DType::float32, {kSamples, kSide, kSide, 3}), labels(DType::int32, {kSamples});
  Rng rng(1);
  for (int64_t i = 0; i < images.elements(); ++i) images.data_mut<float>()[i] = rng.uniform();
  for (int64_t i = 0; i < kSamples; ++i) labels.data_mut<int32_t>()[i] = int32_t(i % 10);

  Run slow = train(slow_layer(), images, labels), fast = train(op_layer(), images, labels);
  double steps = 2.0 * kSamples / 32;
  std::printf("host layer %8.2f ms a step, loss %.4f\n", 1e3 * slow.seconds / steps, slow.loss);
  std::printf("op layer   %8.2f ms a step, loss %.4f\n", 1e3 * fast.seconds / steps, fast.loss);
  std::printf("the host layer costs %.1f times the whole step\n", slow.seconds / fast.seconds);
  require(std::abs(slow.loss - fast.loss) < 1e-3 * slow.loss, "both learn the same");
}
