#include "doctor/patients.h"

namespace stoker::bench {

namespace {

const Machine kGpu{.device = "cuda"};

// Batches that lie in ordinary memory already, so that nothing but their copy is left to do.
Batches ready_batches(uint64_t seed, int64_t batch, int64_t features, int64_t count = 2) {
  Rng rng(seed);
  std::vector<Batch> list;
  for (int64_t i = 0; i < count; ++i) {
    Tensor x(DType::float32, {batch, features}), y(DType::int64, {batch});
    for (int64_t k = 0; k < x.elements(); ++k) x.data_mut<float>()[k] = rng.normal();
    for (int64_t k = 0; k < batch; ++k) y.data_mut<int64_t>()[k] = rng.integer(0, kClasses);
    list.push_back({x, y});
  }
  return list;
}

// Brings all weights to the host between two steps.
class ReadingBack : public Callback {
 public:
  void on_train_batch_end(int64_t, const Logs&) override {
    for (const Variable& variable : model().trainable_variables()) variable.read();
  }
};

constexpr int64_t kWide = 2048;

Patient healthy(uint64_t seed) {
  return patient(seed, ready_batches(seed, 1024, kWide), {.features = kWide, .units = kWide}, kGpu);
}

Patient copies(uint64_t seed, bool pin) {
  return patient(seed, ready_batches(seed, 256, 16384), {.features = 16384, .units = 64},
                 {.device = "cuda", .pin = pin});
}

Patient tiny_ops(uint64_t seed, bool capture) {
  return patient(seed, ready_batches(seed, 64, 64), {.features = 64, .units = 64, .layers = 100},
                 {.device = "cuda", .capture = capture});
}

Patient slow_map(uint64_t seed) {
  auto slow = [](int64_t, Rng&) { spin(40); };
  data::Dataset mapped = doing(rows(seed), {.name = "slow", .parallel = 1}, slow);
  return patient(seed, as_written(mapped.batch(64).prefetch(2), seed), {}, kGpu);
}

Patient callback(uint64_t seed) {
  Patient result = healthy(seed);
  result.callbacks = {CallbackRef(std::make_shared<ReadingBack>())};
  return result;
}

Patient layer_on_host(uint64_t seed) {
  return patient(seed, ready_batches(seed, 256, kWide),
                 {.features = kWide, .units = kWide, .extra = host_layer(500)}, kGpu);
}

Patient without_it(uint64_t seed) {
  return patient(seed, ready_batches(seed, 256, kWide), {.features = kWide, .units = kWide}, kGpu);
}

Patient tiny_batch(uint64_t seed) {
  return patient(seed, ready_batches(seed, 4, 64), {.features = 64, .units = 64, .layers = 40},
                 kGpu);
}

// So large that the optimiser's part is small beside them.
Patient large_products(uint64_t seed) {
  return patient(seed, ready_batches(seed, 8192, 64), {.features = 64, .units = 8192, .layers = 3},
                 {.device = "cuda", .policy = "mixed_bfloat16"});
}

Patient products_in_float32(uint64_t seed) {
  return patient(seed, ready_batches(seed, 2048, 2048), {.features = 2048, .units = 4096}, kGpu);
}

// So large that the cache, which holds most of a table of 4096², has no part in it.
Patient large_tables(uint64_t seed) {
  return patient(seed, ready_batches(seed, 8, 8192),
                 {.features = 8192, .units = 8192, .layers = 2, .optimizer = "adam"}, kGpu);
}

Patient slow_ops(uint64_t seed, int count) {
  return patient(
      seed, ready_batches(seed, 1024, 2048),
      {.features = 2048, .units = kGrouped, .layers = 1, .extra = grouped_convolutions(count)},
      kGpu);
}

}  // namespace

std::vector<Fault> gpu_faults() {
  return {
      {"GPU: pageable copies", Finding::copy, Cause::pageable,
       [](uint64_t seed) { return copies(seed, false); }},
      {"GPU: many small ops, not captured", Finding::launch, Cause::many_small_ops,
       [](uint64_t seed) { return tiny_ops(seed, false); }},
      {"GPU: slow map", Finding::input, Cause::parallelism, slow_map},
      {"GPU: callback that synchronises", Finding::sync, Cause::callback, callback, healthy},
      {"GPU: layer on the host", Finding::sync, Cause::host_layer, layer_on_host, without_it},
      {"GPU: batch too small for the memory",
       Finding::latency,
       Cause::memory_unused,
       tiny_batch,
       {},
       "",
       Action::larger_batch},
      {"GPU: float32 on tensor cores",
       Finding::compute,
       Cause::none,
       products_in_float32,
       {},
       "mixed_bfloat16",
       Action::mixed_precision},
      {"GPU: large products in sixteen bits", Finding::compute, Cause::none, large_products},
      {"GPU: large tables of weights", Finding::memory, Cause::none, large_tables},
      {"GPU: one slow op",
       Finding::kernels,
       Cause::slow_op,
       [](uint64_t seed) { return slow_ops(seed, 1); },
       {},
       "",
       Action::faster_ops},
      {"GPU: busy, but slow everywhere",
       Finding::kernels,
       Cause::slow_kernels,
       [](uint64_t seed) { return slow_ops(seed, 3); },
       {},
       "",
       Action::faster_ops},
  };
}

}  // namespace stoker::bench
