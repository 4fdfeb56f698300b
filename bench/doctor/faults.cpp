#include "doctor/faults.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace stoker::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kRows = 2048, kFeatures = 256, kClasses = 8;

void spin(int64_t microseconds) {
  auto until = Clock::now() + std::chrono::microseconds(microseconds);
  while (Clock::now() < until) continue;
}

data::Dataset rows(uint64_t seed, int64_t features = kFeatures) {
  Tensor x(DType::float32, {kRows, features}), y(DType::int64, {kRows});
  Rng rng(seed);
  for (int64_t i = 0; i < x.elements(); ++i) x.data_mut<float>()[i] = rng.normal();
  for (int64_t i = 0; i < kRows; ++i) y.data_mut<int64_t>()[i] = rng.integer(0, kClasses);
  return data::from_slices({x, y});
}

// What a map does with an element besides handing it on.
auto doing(std::function<void(int64_t label, Rng& rng)> work) {
  return [work = std::move(work)](const Tensor& x, int64_t label, Rng& rng) {
    work(label, rng);
    return std::pair(x, label);
  };
}

struct ModelSize {
  int64_t features = kFeatures, units = 384, layers = 2;
  std::string optimizer = "sgd";
  std::optional<Layer> extra = {};
};

// One compute thread, so that a core is left for the pipeline on a machine of two.
Patient patient(uint64_t seed, const data::Dataset& dataset, const ModelSize& size = {}) {
  Patient result;
  result.context = std::make_unique<Context>();
  result.context->seed.set(seed);
  result.context->out = nullptr;
  result.context->threads.compute = 1;
  std::vector<Layer> layers = {Input({size.features})};
  for (int64_t i = 0; i < size.layers; ++i)
    layers.push_back(Dense(size.units, {.activation = "relu"}));
  if (size.extra) layers.push_back(*size.extra);
  layers.push_back(Dense(kClasses, {.activation = "softmax"}));
  result.model.emplace(layers);
  result.model->compile({.optimizer = Optimizer(size.optimizer),
                         .loss = "sparse_categorical_crossentropy",
                         .context = result.context.get()});
  result.dataset = dataset;
  return result;
}

data::Dataset as_written(const data::Dataset& dataset, uint64_t seed) {
  return dataset.with_options({.seed = seed, .as_written = true});
}

// Processes that do nothing but compute, for as long as this lives.
class Burners {
 public:
  explicit Burners(int count) {
    for (int i = 0; i < count; ++i) {
      pid_t child = fork();
      if (child == 0)
        for (volatile int64_t n = 0;;) n = n + 1;
      if (child > 0) children_.push_back(child);
    }
  }
  ~Burners() {
    for (pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Burners(const Burners&) = delete;
  Burners& operator=(const Burners&) = delete;

 private:
  std::vector<pid_t> children_;
};

class Working : public Callback {
 public:
  void on_train_batch_end(int64_t, const Logs&) override { spin(1500); }
};

Layer host_layer() {
  return HostLayer(
      [](const Tensor& x, Tensor& y) {
        spin(1000);
        std::copy_n(x.data<float>(), x.elements(), y.data_mut<float>());
      },
      [](const Tensor&, const Tensor&, const Tensor& dy, Tensor& dx) {
        std::copy_n(dy.data<float>(), dy.elements(), dx.data_mut<float>());
      },
      {.name = "slow_layer"});
}

Patient healthy(uint64_t seed) { return patient(seed, rows(seed).batch(64)); }

}  // namespace

std::vector<Fault> faults() {
  std::vector<Fault> list;
  list.push_back(
      {"slow map", Finding::input, Cause::parallelism, [](uint64_t seed) {
         auto slow = doing([](int64_t, Rng&) { spin(150); });
         return patient(
             seed,
             as_written(rows(seed).map(slow, {.name = "slow", .parallel = 1}).batch(64).prefetch(2),
                        seed));
       }});
  list.push_back(
      {"one slow sample in a hundred", Finding::input, Cause::jitter, [](uint64_t seed) {
         auto uneven = doing([](int64_t, Rng& rng) {
           if (rng.integer(0, 100) == 0) spin(2000);
         });
         return patient(
             seed,
             as_written(
                 rows(seed).map(uneven, {.name = "uneven", .parallel = 1}).batch(64).prefetch(1),
                 seed),
             {.units = 512});
       }});
  list.push_back({"no prefetch", Finding::input, Cause::no_prefetch, [](uint64_t seed) {
                    auto some = doing([](int64_t, Rng&) { spin(12); });
                    return patient(
                        seed, as_written(rows(seed).map(some, {.name = "some"}).batch(64), seed));
                  }});
  list.push_back(
      {"slow disk", Finding::input, Cause::storage, [](uint64_t seed) {
         auto disk = doing(
             [](int64_t, Rng&) { std::this_thread::sleep_for(std::chrono::microseconds(150)); });
         return patient(
             seed,
             as_written(rows(seed).map(disk, {.name = "read", .parallel = 1}).batch(64).prefetch(2),
                        seed));
       }});
  list.push_back({"CPU burners beside it", Finding::health, Cause::cpu_contention,
                  [](uint64_t seed) {
                    Patient result = healthy(seed);
                    result.beside = std::make_shared<Burners>(4);
                    return result;
                  },
                  healthy});
  list.push_back({"callback that works", Finding::sync, Cause::callback,
                  [](uint64_t seed) {
                    Patient result = healthy(seed);
                    result.callbacks = {CallbackRef(std::make_shared<Working>())};
                    return result;
                  },
                  healthy});
  list.push_back(
      {"layer on the host", Finding::sync, Cause::host_layer,
       [](uint64_t seed) { return patient(seed, rows(seed).batch(64), {.extra = host_layer()}); },
       healthy});
  list.push_back({"tiny batch", Finding::latency, Cause::small_batch, [](uint64_t seed) {
                    return patient(seed, rows(seed, 32).batch(4).prefetch(16),
                                   {.features = 32, .units = 32, .layers = 40});
                  }});
  list.push_back({"large products", Finding::compute, Cause::none, [](uint64_t seed) {
                    return patient(seed, rows(seed, 1024).batch(256),
                                   {.features = 1024, .units = 1024, .layers = 1});
                  }});
  list.push_back({"large tables of weights", Finding::memory, Cause::none, [](uint64_t seed) {
                    return patient(
                        seed, rows(seed, 2048).batch(1).prefetch(16),
                        {.features = 2048, .units = 2048, .layers = 1, .optimizer = "adam"});
                  }});
  return list;
}

Patient slow_pipeline(uint64_t seed, bool by_hand) {
  auto slow = doing([](int64_t, Rng&) { spin(60); });
  data::Dataset dataset = rows(seed).map(slow, {.name = "augment"}).batch(64);
  if (by_hand) return patient(seed, dataset.prefetch(8).with_options({.seed = seed}));
  return patient(seed, as_written(dataset, seed));
}

}  // namespace stoker::bench
