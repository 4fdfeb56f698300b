// What makes trainings slow, case by case, and what the doctor says about each: the cause, and what
// to do. `doctor_cases` runs all of them, `doctor_cases NAME` one. Where other programs keep the
// machine too busy for a verdict, it waits and tries again for two minutes in all. Exit status:
// 0, every case was named; 1, one was not; 77, one could not be shown here; 2, wrong use.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include <stoker/stoker.h>

using namespace stoker;
using namespace stoker::doctor;

namespace {

constexpr int64_t kSamples = 1024, kFeatures = 64, kBatch = 16;

void compute_for(std::chrono::microseconds time) {
  auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) continue;
}

data::Dataset samples(int64_t features = kFeatures) {
  Tensor x(DType::float32, {kSamples, features}), y(DType::int64, {kSamples});
  Rng rng(1);
  for (int64_t i = 0; i < x.elements(); ++i) x.data_mut<float>()[i] = rng.uniform();
  for (int64_t i = 0; i < kSamples; ++i) y.data_mut<int64_t>()[i] = i % 10;
  return data::from_slices({x, y});
}

// A map that takes its time before it hands an element on.
template <class Time>
data::Dataset delayed(const data::Dataset& dataset, const data::MapOptions& options, Time time) {
  return dataset.map(
      [time](const Tensor& x, int64_t label) {
        time();
        return std::pair(x, label);
      },
      options);
}

struct Case {
  const char* name;
  const char* habit;  // what people write
  Limit limit;
  Cause cause;
  Diagnosis (*run)();
};

Diagnosis examine(const std::vector<Layer>& hidden, const data::Dataset& batches,
                  int64_t features = kFeatures, const char* optimizer = "sgd") {
  default_context().threads.compute = 1;  // so that a core is left for the pipeline
  std::vector<Layer> layers = {Input({features})};
  layers.insert(layers.end(), hidden.begin(), hidden.end());
  layers.push_back(Dense(10, {.activation = "softmax"}));
  Sequential model(layers);
  model.compile({.optimizer = Optimizer(optimizer), .loss = "sparse_categorical_crossentropy"});
  return diagnose(model, batches, {.steps = 60, .seconds = 10});
}

std::vector<Layer> dense_layers(int count, int64_t units) {
  std::vector<Layer> layers;
  layers.reserve(size_t(count));
  for (int i = 0; i < count; ++i) layers.push_back(Dense(units, {.activation = "relu"}));
  return layers;
}

std::vector<Layer> small() { return dense_layers(1, 64); }

data::Dataset as_written(const data::Dataset& dataset) {
  return dataset.with_options({.seed = 1, .as_written = true});
}

Diagnosis sequential_loading() {
  auto read = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  return examine(small(), as_written(delayed(samples(), {.name = "read"}, read).batch(kBatch)));
}

Diagnosis slow_map() {
  auto work = [] { compute_for(std::chrono::milliseconds(1)); };
  data::Dataset mapped = delayed(samples(), {.name = "preprocess", .parallel = 1}, work);
  return examine(small(), as_written(mapped.batch(kBatch).prefetch(2)));
}

Diagnosis missing_prefetch() {
  auto work = [] { compute_for(std::chrono::microseconds(100)); };
  return examine(dense_layers(6, 1024),
                 as_written(delayed(samples(), {.name = "decode"}, work).batch(kBatch)));
}

Diagnosis heavy_augmentation() {
  auto work = [] { compute_for(std::chrono::milliseconds(2)); };
  return examine(small(), delayed(samples(), {.name = "augment"}, work).batch(kBatch));
}

Diagnosis host_layer() {
  HostLayer slow(
      [](const Tensor& x, Tensor& y) {
        compute_for(std::chrono::milliseconds(3));
        std::copy_n(x.data<float>(), x.elements(), y.data_mut<float>());
      },
      [](const Tensor&, const Tensor&, const Tensor& dy, Tensor& dx) {
        std::copy_n(dy.data<float>(), dy.elements(), dx.data_mut<float>());
      },
      {.name = "own_filter"});
  return examine({Dense(64, {.activation = "relu"}), slow}, samples().batch(kBatch));
}

Diagnosis small_batch() { return examine(dense_layers(60, 32), samples().batch(1).prefetch(32)); }

Diagnosis too_large() {
  default_context().memory_limit = size_t(16) << 20;
  Diagnosis diagnosis =
      examine({Dense(4096, {.activation = "relu"})}, samples().batch(512), kFeatures, "adam");
  default_context().memory_limit = 0;
  return diagnosis;
}

Diagnosis oversized() {
  return examine({Dense(4096, {.activation = "relu", .name = "oversized"})},
                 samples(2048).batch(8).prefetch(8), 2048, "adam");
}

const Case kCases[] = {
    {"sequential_loading", "files are read one after the other", Limit::input, Cause::storage,
     sequential_loading},
    {"slow_map", "map without num_parallel_calls", Limit::input, Cause::parallelism, slow_map},
    {"missing_prefetch", "no prefetch at the end", Limit::input, Cause::no_prefetch,
     missing_prefetch},
    {"heavy_augmentation", "augmentation that overloads the CPU", Limit::input,
     Cause::cpu_saturated, heavy_augmentation},
    {"host_layer", "a custom layer on the host", Limit::sync, Cause::host_layer, host_layer},
    {"small_batch", "a batch of one", Limit::latency, Cause::small_batch, small_batch},
    {"too_large", "a model too large for the memory", Limit::none, Cause::out_of_memory, too_large},
    {"oversized", "a layer far too wide", Limit::none, Cause::none, oversized},
};

// The layer that takes longest; what the optimiser does is done for layers, too.
std::string widest(const Diagnosis& diagnosis) {
  for (const LayerReport& row : diagnosis.layers)
    if (row.layer != "optimizer" && row.layer != "loss") return row.layer;
  return "";
}

constexpr double kMostUnexplained = 0.03;  // of a step

bool is_named(const Case& each, const Diagnosis& diagnosis) {
  const Verdict& verdict = diagnosis.verdict;
  if (diagnosis.shares[Owner::unexplained] > kMostUnexplained) return false;
  if (each.cause == Cause::out_of_memory) return verdict.cause == each.cause;
  // Which of memory and arithmetic limits it is the machine's affair: the layer is named.
  if (each.cause == Cause::none) return widest(diagnosis) == "oversized";
  return verdict.limit == each.limit && verdict.limit_cause == each.cause;
}

enum class Shown { yes, not_here, no };

// Others were on the cores, or the steps varied too much: that says nothing about the doctor.
bool is_disturbed(const Verdict& verdict) {
  return verdict.finding == Finding::unstable || verdict.cause == Cause::cpu_contention;
}

using Clock = std::chrono::steady_clock;

Shown show(const Case& each, Clock::time_point patience_ends) {
  Diagnosis diagnosis = each.run();
  while (!is_named(each, diagnosis) && is_disturbed(diagnosis.verdict) &&
         Clock::now() < patience_ends) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    diagnosis = each.run();
  }
  std::printf("%s: %s\n  %s\n", each.name, each.habit, diagnosis.verdict.sentence.c_str());
  for (const Prescription& prescription : diagnosis.prescriptions)
    std::printf("  → %s\n", prescription.what.c_str());
  if (is_named(each, diagnosis)) return Shown::yes;
  bool disturbed = is_disturbed(diagnosis.verdict);
  std::printf("  %s\n",
              disturbed ? "NOT SHOWN: the machine is too busy for a verdict" : "NOT NAMED");
  return disturbed ? Shown::not_here : Shown::no;
}

}  // namespace

int main(int count, char** arguments) {
  Clock::time_point patience_ends = Clock::now() + std::chrono::minutes(2);
  int shown = 0, not_here = 0, wrong = 0;
  for (const Case& each : kCases) {
    if (count > 1 && std::strcmp(arguments[1], each.name) != 0) continue;
    Shown how = show(each, patience_ends);
    ++(how == Shown::yes ? shown : how == Shown::no ? wrong : not_here);
  }
  if (shown + not_here + wrong == 0) {
    std::fprintf(stderr, "doctor_cases: there is no case \"%s\"\n", arguments[1]);
    return 2;
  }
  std::printf("%d named, %d not named, %d not shown\n", shown, wrong, not_here);
  if (wrong > 0) return 1;
  return not_here > 0 ? 77 : 0;
}
