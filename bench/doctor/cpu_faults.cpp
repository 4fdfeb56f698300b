#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/cores.h"
#include "doctor/patients.h"

namespace stoker::bench {

namespace {

// Seconds of a step of the patient as it is.
double seconds_a_step(Patient patient) {
  constexpr int64_t kWarm = 10, kSteps = 40;
  auto run = [&](int64_t steps) {
    patient.model->fit(patient.batches, {.steps_per_epoch = steps, .verbose = 0});
  };
  run(kWarm);
  auto begin = std::chrono::steady_clock::now();
  run(kSteps);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / double(kSteps);
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

Patient healthy(uint64_t seed) { return patient(seed, rows(seed).batch(64)); }

Patient slow_map(uint64_t seed) {
  auto slow = [](int64_t, Rng&) { spin(150); };
  data::Dataset mapped = doing(rows(seed), {.name = "slow", .parallel = 1}, slow);
  return patient(seed, as_written(mapped.batch(64).prefetch(2), seed));
}

// The same samples in every epoch, as with files of which some are large: a prediction and what came
// of it are then about the same work.
Patient uneven(uint64_t seed) {
  constexpr float kOneInAHundred = 2.326F;  // of a normal distribution
  data::Dataset mapped = rows(seed).map(
      [](const Tensor& x, int64_t label) {
        if (x.data<float>()[0] > kOneInAHundred) spin(2000);
        return std::pair(x, label);
      },
      {.name = "uneven", .parallel = 1});
  return patient(seed, as_written(mapped.batch(64).prefetch(1), seed), {.units = 512});
}

Patient no_prefetch(uint64_t seed) {
  auto some = [](int64_t, Rng&) { spin(8); };
  return patient(seed, as_written(doing(rows(seed), {.name = "some"}, some).batch(64), seed));
}

Patient slow_disk(uint64_t seed) {
  auto read = [](int64_t, Rng&) { std::this_thread::sleep_for(std::chrono::microseconds(150)); };
  data::Dataset mapped = doing(rows(seed), {.name = "read", .parallel = 1}, read);
  return patient(seed, as_written(mapped.batch(64).prefetch(2), seed));
}

// Everything that can be repaired is, and it is still too much for the cores.
Patient augmentation(uint64_t seed) {
  auto augment = [](int64_t, Rng&) { spin(75L * available_cores()); };
  return patient(seed, doing(rows(seed), {.name = "augment"}, augment).batch(64));
}

// Batches are ready, but the threads that make them take cores from those that compute: half as much
// work as the step's own, which is measured, since it differs by five times between processors.
Patient same_cores(uint64_t seed) {
  constexpr int64_t kBatch = 64;
  ModelSize size{.features = 1024, .units = 1024};
  Machine machine{.compute_threads = available_cores()};
  data::Dataset plain = rows(seed, size.features);
  double step = seconds_a_step(patient(seed, plain.batch(kBatch), size, machine));
  auto spinning = int64_t(0.5e6 * step * available_cores() / double(kBatch));
  auto some = [spinning](int64_t, Rng&) { spin(spinning); };
  return patient(seed, doing(plain, {.name = "some"}, some).batch(kBatch), size, machine);
}

Patient burners(uint64_t seed) {
  Patient result = healthy(seed);
  result.beside = std::make_shared<Burners>(2 * available_cores());
  return result;
}

Patient callback(uint64_t seed) {
  Patient result = healthy(seed);
  result.callbacks = {CallbackRef(std::make_shared<Working>())};
  return result;
}

Patient layer_on_host(uint64_t seed) {
  return patient(seed, rows(seed).batch(64), {.extra = host_layer(1000)});
}

Patient tiny_batch(uint64_t seed) {
  return patient(seed, rows(seed, 32).batch(4).prefetch(16),
                 {.features = 32, .units = 32, .layers = 40});
}

// Not 1024: where rows are a power of two apart, the product forwards reaches half of the peak
// here.
Patient large_products(uint64_t seed) {
  return patient(seed, rows(seed, 960).batch(256), {.features = 960, .units = 960, .layers = 1});
}

Patient large_tables(uint64_t seed) {
  return patient(seed, rows(seed, 2048).batch(1).prefetch(16),
                 {.features = 2048, .units = 2048, .layers = 1, .optimizer = "adam"});
}

Patient slow_ops(uint64_t seed, int count) {
  return patient(seed, rows(seed).batch(64),
                 {.units = kGrouped, .layers = 1, .extra = grouped_convolutions(count)});
}

}  // namespace

std::vector<Fault> cpu_faults() {
  return {
      {"slow map", Finding::input, Cause::parallelism, slow_map},
      {"one slow sample in a hundred", Finding::input, Cause::jitter, uneven},
      {"no prefetch", Finding::input, Cause::no_prefetch, no_prefetch},
      {"slow disk", Finding::input, Cause::storage, slow_disk},
      {"augmentation on all cores", Finding::input, Cause::cpu_saturated, augmentation},
      {"pipeline on the cores that compute", Finding::contention, Cause::pipeline_threads,
       same_cores},
      {"CPU burners beside it", Finding::health, Cause::cpu_contention, burners, healthy, "",
       Action::stop_others},
      {"callback that works", Finding::sync, Cause::callback, callback, healthy, "",
       Action::seldom_callback},
      {"layer on the host", Finding::sync, Cause::host_layer, layer_on_host, healthy, "",
       Action::write_with_ops},
      {"tiny batch",
       Finding::latency,
       Cause::small_batch,
       tiny_batch,
       {},
       "",
       Action::larger_batch},
      {"large products",
       Finding::compute,
       Cause::none,
       large_products,
       {},
       "",
       Action::shrink_layer},
      {"large tables of weights", Finding::memory, Cause::none, large_tables},
      {"one slow op",
       Finding::kernels,
       Cause::slow_op,
       [](uint64_t seed) { return slow_ops(seed, 1); },
       {},
       "",
       Action::faster_ops},
      {"busy, but slow everywhere",
       Finding::kernels,
       Cause::slow_kernels,
       [](uint64_t seed) { return slow_ops(seed, 3); },
       {},
       "",
       Action::faster_ops},
  };
}

// Input is what limits it on any machine, also with all cores at work: what is compared is the
// pipeline.
Patient slow_pipeline(uint64_t seed, bool by_hand) {
  auto slow = [](int64_t, Rng&) { spin(30L * available_cores()); };
  data::Dataset dataset = doing(rows(seed), {.name = "augment"}, slow).batch(64);
  if (by_hand) return patient(seed, dataset.prefetch(8).with_options({.seed = seed}));
  return patient(seed, as_written(dataset, seed));
}

}  // namespace stoker::bench
