// For tests of BackupAndRestore: a training that can be stopped and gone on with, and its outcome.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include <stoker/stoker.h>

#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/weights_hash.h"

namespace stoker::test {

// What came out of a training.
struct Outcome {
  std::string weights;
  History history;
  std::string resumed_from;
  std::vector<std::string> notes;
  BackupCosts costs;
};

inline Sequential three_class_model(double rate = 0.02) {
  Sequential model({Input({4}), Dense(8, {.activation = "relu"}), Dropout(0.2),
                    Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = rate}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

// One process in miniature: the same seed, a new model, a fit. Nothing is left over from the last.
using FitCall = std::function<History(const Model&, FitArgs)>;
inline Outcome train(BackupAndRestore backup, const FitCall& fit, FitArgs args = {}) {
  set_seed(3);
  Sequential model = three_class_model();
  args.verbose = 0;
  args.callbacks.emplace_back(backup);
  Outcome outcome;
  outcome.history = fit(model, args);
  outcome.weights = weights_sha256(model);
  outcome.resumed_from = backup.resumed_from();
  outcome.notes = backup.notes();
  outcome.costs = backup.costs();
  return outcome;
}

inline void expect_same(const Outcome& got, const Outcome& expected) {
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.history.epochs(), expected.history.epochs());
  ASSERT_EQ(got.history.names(), expected.history.names());
  for (const std::string& name : got.history.names())
    EXPECT_EQ(got.history[name], expected.history[name]) << name;
}

// Stops after `steps` again and again, until the training ends by itself.
inline void expect_stops_change_nothing(const FitCall& fit, int64_t steps,
                                        const FitArgs& args = {}) {
  TempDir whole, parts;
  Outcome expected = train(BackupAndRestore(whole / "c"), fit, args);
  int stops = 0;
  while (true) {
    BackupOptions options{.stop_after_steps = steps};
    if (stops % 2 == 1) options.save_freq = 2;
    try {
      Outcome got = train(BackupAndRestore(parts / "c", options), fit, args);
      EXPECT_GT(stops, 0);
      EXPECT_NE(got.resumed_from, "");
      expect_same(got, expected);
      return;
    } catch (const Interrupted& error) {
      ++stops;
      ASSERT_TRUE(says(error.what(), {"run the same program again", "ckpt-"}));
      EXPECT_EQ(error.signal(), 0);
    }
  }
}

class Resume : public testing::Test {
 protected:
  OnDevice device_{"cpu"};
  Data data_ = blobs(50, 4, 3, 7);
};

inline data::Dataset dataset(const Data& data) {
  return data::from_slices({data.x, data.y})
      .shuffle()
      .map([](const Tensor& x, int32_t y, Rng& rng) {
        Tensor out = x.clone();
        for (int64_t i = 0; i < 4; ++i) out.data_mut<float>()[i] += 0.1F * rng.normal();
        return std::tuple(out, y);
      })
      .batch(8);
}

inline FitCall on_arrays(const Data& data, FitArgs fixed) {
  return [=](const Model& model, const FitArgs& args) {
    FitArgs all = fixed;
    all.callbacks = args.callbacks;
    all.verbose = args.verbose;
    return model.fit(data.x, data.y, all);
  };
}

}  // namespace stoker::test
