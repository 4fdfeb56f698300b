// What programs do besides their steps, and what is known only once a fit has ended.
#include "doctor/patients.h"

namespace stoker::bench {

namespace {

constexpr int64_t kEpochs = 8, kSteps = 16;  // of a short fit; a step takes about a millisecond

// A fit of short epochs, which its own observer judges.
Patient short_epochs(uint64_t seed) {
  Patient result = patient(seed, rows(seed, kFeatures, 64 * kSteps).batch(64));
  result.fit = FitArgs{.epochs = kEpochs, .verbose = 0};
  return result;
}

Patient long_validation(uint64_t seed) {
  Patient result = short_epochs(seed);
  // More than the epoch's own batches, forwards only.
  result.fit->validation_data = rows(seed + 100, kFeatures, 64 * kSteps * 8).batch(64);
  return result;
}

class Saving : public Callback {
 public:
  void on_epoch_end(int64_t, const Logs&) override { spin(60'000); }
};

Patient saves_every_epoch(uint64_t seed) {
  Patient result = short_epochs(seed);
  result.fit->callbacks = {CallbackRef(std::make_shared<Saving>())};
  return result;
}

class Checkpoints : public Callback {
 public:
  void on_train_batch_end(int64_t step, const Logs&) override {
    if (step % 3 == 0) spin(3000);
  }
};

Patient saves_every_third_step(uint64_t seed) {
  Patient result = patient(seed, rows(seed).batch(64));
  result.callbacks = {CallbackRef(std::make_shared<Checkpoints>())};
  return result;
}

// Sequences whose lengths hardly ever come again.
Patient new_lengths(uint64_t seed, bool few) {
  Rng rng(seed);
  std::vector<Batch> list;
  for (int64_t i = 0; i < 150; ++i) {
    int64_t length = few ? 160 : 20 + rng.integer(0, 141);
    Tensor x(DType::float32, {16, length, 16}), y(DType::int64, {16});
    for (int64_t k = 0; k < x.elements(); ++k) x.data_mut<float>()[k] = rng.normal();
    for (int64_t k = 0; k < 16; ++k) y.data_mut<int64_t>()[k] = rng.integer(0, kClasses);
    list.push_back({x, y});
  }
  Patient result =
      patient(seed, std::move(list), {}, {},
              {Input({-1, 16}), Conv1D(32, 5, {.padding = "same", .activation = "relu"}),
               GlobalAveragePooling1D(), Dense(kClasses, {.activation = "softmax"})});
  return result;
}

// A table of a hundred megabytes, of which a step needs eight rows; Adam visits all of them.
Patient large_embedding(uint64_t seed) {
  constexpr int64_t kWords = 200'000, kLength = 4;
  Rng rng(seed);
  Tensor x(DType::int64, {512, kLength}), y(DType::int64, {512});
  for (int64_t k = 0; k < x.elements(); ++k) x.data_mut<int64_t>()[k] = rng.integer(0, kWords);
  for (int64_t k = 0; k < 512; ++k) y.data_mut<int64_t>()[k] = rng.integer(0, kClasses);
  return patient(seed, data::from_slices({x, y}).batch(2).prefetch(16), {.optimizer = "adam"}, {},
                 {Input({kLength}, {.dtype = DType::int64}), Embedding(kWords, 64), Flatten(),
                  Dense(kClasses, {.activation = "softmax"})});
}

// A metric that is a function on the host.
Patient host_metric(uint64_t seed, bool slow) {
  Patient result = patient(seed, rows(seed).batch(64));
  Layer judge = host_layer(slow ? 1500 : 0);
  Metric metric("judged", [judge](const Value&, const Value& y_pred) {
    return ops::mean(judge(y_pred), {.axes = {-1}});
  });
  result.model->compile({.optimizer = "sgd",
                         .loss = "sparse_categorical_crossentropy",
                         .metrics = {metric},
                         .context = result.context.get()});
  return result;
}

// Elements that are allocated anew in every step of a chain, as in a language without values.
Patient allocating_map(uint64_t seed) {
  auto allocate = [](int64_t label, Rng&) {
    std::vector<std::vector<double>> parts;
    for (int64_t i = 0; i < 400; ++i) parts.emplace_back(size_t(200 + label), double(i));
    if (parts.back().back() < 0) spin(1);
  };
  data::Dataset mapped = doing(rows(seed), {.name = "allocates", .parallel = 1}, allocate);
  return patient(seed, as_written(mapped.batch(64).prefetch(2), seed));
}

}  // namespace

std::vector<Fault> everyday_faults() {
  return {
      {"validation longer than the epoch",
       Finding::epochs,
       Cause::validation,
       long_validation,
       {},
       "",
       Action::seldom_validation},
      {"saving after every short epoch",
       Finding::epochs,
       Cause::epoch_callback,
       saves_every_epoch,
       {},
       "",
       Action::seldom_callback},
      {"checkpoint every third step", Finding::sync, Cause::callback, saves_every_third_step,
       [](uint64_t seed) { return patient(seed, rows(seed).batch(64)); }, "",
       Action::seldom_callback},
      {"lengths that are always new",
       Finding::sync,
       Cause::recompiling,
       [](uint64_t seed) { return new_lengths(seed, false); },
       {},
       "",
       Action::fixed_shapes},
      {"large embedding, tiny batch", Finding::memory, Cause::none, large_embedding},
      {"metric on the host", Finding::sync, Cause::host_layer,
       [](uint64_t seed) { return host_metric(seed, true); },
       [](uint64_t seed) { return host_metric(seed, false); }, "", Action::write_with_ops},
      {"map that allocates", Finding::input, Cause::parallelism, allocating_map},
  };
}

}  // namespace stoker::bench
