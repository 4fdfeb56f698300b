// Data and models that trainings on one and on several replicas are compared with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <stoker/stoker.h>

namespace stoker::test {

struct Rows {
  Tensor x, y, weights;
};

// Class ids that the first feature decides.
inline Rows make_rows(int64_t rows, int64_t features = 12, int64_t classes = 4) {
  Rng rng(7);
  std::vector<float> x(size_t(rows * features)), weights(static_cast<size_t>(rows));
  std::vector<int32_t> y(static_cast<size_t>(rows));
  for (float& value : x) value = float(rng.uniform(-1, 1));
  for (int64_t row = 0; row < rows; ++row) {
    y[size_t(row)] = int32_t(std::abs(int64_t(x[size_t(row * features)] * 40)) % classes);
    weights[size_t(row)] = float(rng.uniform(0.2, 2));
  }
  return {Tensor::from(x, {rows, features}), Tensor::from(y, {rows}),
          Tensor::from(weights, {rows})};
}

// STOKER_TEST_DEVICE: another device than the CPU, for machines that have one ("cuda:0").
inline std::string test_device() {
  const char* given = std::getenv("STOKER_TEST_DEVICE");
  return given != nullptr ? given : "cpu";
}

// A run: the model that `build` makes with a given seed, trained.
struct Trained {
  History history;
  std::vector<Tensor> weights;
  double evaluated = 0;
};

struct Training {
  std::function<std::vector<Layer>()> layers = [] {
    return std::vector<Layer>{Input({12}), Dense(24, {.activation = "relu"}),
                              Dense(4, {.activation = "softmax"})};
  };
  std::function<Optimizer()> optimizer = [] { return Optimizer("adam"); };
  FitArgs args = {.epochs = 3, .batch_size = 32, .verbose = 0};
  int64_t rows = 203;
  bool weighted = false;
  std::string policy = "float32";
  int threads = 1;
};

inline Trained train(const Training& training) {
  Rows rows = make_rows(training.rows);
  Context context{.seed = 11,
                  .threads = {.compute = training.threads},
                  .device = test_device(),
                  .policy = training.policy,
                  .out = nullptr};
  set_seed(11);
  Sequential model(training.layers());
  model.compile({.optimizer = training.optimizer(),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .weighted_metrics = {"accuracy"},
                 .context = &context});
  FitArgs args = training.args;
  if (training.weighted) args.sample_weight = rows.weights;
  Trained result;
  result.history = model.fit(rows.x, rows.y, args);
  result.weights = model.get_weights();
  result.evaluated = model.evaluate(rows.x, rows.y, {.verbose = 0})["loss"];
  return result;
}

// Up to the order in which float32 sums are added.
inline void expect_close(const Trained& a, const Trained& b, double bound = 3e-5) {
  for (const char* name : {"loss", "accuracy", "weighted_accuracy"}) {
    std::vector<double> first = a.history[name], second = b.history[name];
    ASSERT_EQ(first.size(), second.size()) << name;
    for (size_t epoch = 0; epoch < first.size(); ++epoch)
      EXPECT_NEAR(first[epoch], second[epoch], bound) << name << ", epoch " << epoch;
  }
  EXPECT_NEAR(a.evaluated, b.evaluated, bound);
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (size_t i = 0; i < a.weights.size(); ++i)
    for (int64_t at = 0; at < a.weights[i].elements(); ++at)
      ASSERT_NEAR(a.weights[i].data<float>()[at], b.weights[i].data<float>()[at], 30 * bound)
          << "weight " << i;
}

inline bool same_bits(const Trained& a, const Trained& b) {
  if (a.weights.size() != b.weights.size()) return false;
  for (size_t i = 0; i < a.weights.size(); ++i)
    if (std::memcmp(a.weights[i].raw(), b.weights[i].raw(), a.weights[i].bytes()) != 0)
      return false;
  return a.history["loss"] == b.history["loss"] && a.evaluated == b.evaluated;
}

inline std::vector<std::string> logical_devices(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return names;
}

}  // namespace stoker::test
