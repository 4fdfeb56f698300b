#include "doctor/patients.h"

#include <algorithm>
#include <chrono>

namespace stoker::bench {

void spin(int64_t microseconds) {
  using Clock = std::chrono::steady_clock;
  auto until = Clock::now() + std::chrono::microseconds(microseconds);
  while (Clock::now() < until) continue;
}

data::Dataset rows(uint64_t seed, int64_t features, int64_t count) {
  Tensor x(DType::float32, {count, features}), y(DType::int64, {count});
  Rng rng(seed);
  for (int64_t i = 0; i < x.elements(); ++i) x.data_mut<float>()[i] = rng.normal();
  for (int64_t i = 0; i < count; ++i) y.data_mut<int64_t>()[i] = rng.integer(0, kClasses);
  return data::from_slices({x, y});
}

data::Dataset doing(const data::Dataset& dataset, const data::MapOptions& options, Work work) {
  return dataset.map(
      [work = std::move(work)](const Tensor& x, int64_t label, Rng& rng) {
        work(label, rng);
        return std::pair(x, label);
      },
      options);
}

data::Dataset as_written(const data::Dataset& dataset, uint64_t seed) {
  return dataset.with_options({.seed = seed, .as_written = true});
}

namespace {

std::vector<Layer> dense_layers(const ModelSize& size) {
  std::vector<Layer> layers = {Input({size.features})};
  for (int64_t i = 0; i < size.layers; ++i)
    layers.push_back(Dense(size.units, {.activation = "relu"}));
  if (size.extra) layers.push_back(*size.extra);
  layers.push_back(Dense(kClasses, {.activation = "softmax"}));
  return layers;
}

}  // namespace

Patient patient(uint64_t seed, const Batches& batches, const ModelSize& size,
                const Machine& machine, std::vector<Layer> layers) {
  Patient result;
  result.context = std::make_unique<Context>();
  result.context->seed.set(seed);
  result.context->out = nullptr;
  result.context->device = machine.device;
  result.context->policy = machine.policy;
  result.context->threads.compute = machine.compute_threads;
  result.context->capture = machine.capture;
  result.context->pin = machine.pin;
  if (layers.empty()) layers = dense_layers(size);
  result.model.emplace(layers);
  result.model->compile({.optimizer = Optimizer(size.optimizer),
                         .loss = "sparse_categorical_crossentropy",
                         .context = result.context.get()});
  result.batches = batches;
  return result;
}

Layer grouped_convolutions(int count) {
  std::vector<Layer> layers = {Reshape({16, 16, 16})};
  for (int i = 0; i < count; ++i) layers.push_back(Conv2D(16, 7, {.padding = "same", .groups = 8}));
  layers.push_back(Flatten());
  return Sequential(layers);
}

Layer host_layer(int64_t microseconds) {
  return HostLayer(
      [microseconds](const Tensor& x, Tensor& y) {
        spin(microseconds);
        std::copy_n(x.data<float>(), x.elements(), y.data_mut<float>());
      },
      [](const Tensor&, const Tensor&, const Tensor& dy, Tensor& dx) {
        std::copy_n(dy.data<float>(), dy.elements(), dx.data_mut<float>());
      },
      {.name = "slow_layer"});
}

}  // namespace stoker::bench
