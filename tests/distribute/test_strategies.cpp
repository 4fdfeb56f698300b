// What a strategy does to a model besides training it, and what it refuses.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "distribute/distributed_case.h"
#include "support/temp_dir.h"
#include "support/tsan.h"

namespace stoker::test {
namespace {

using ::testing::HasSubstr;

class Strategies : public ::testing::Test {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
  Context context_{.seed = 3, .threads = {.compute = 1}, .device = "cpu", .out = nullptr};

  Sequential model(const Optimizer& optimizer = "adam") {
    set_seed(3);
    Sequential made(
        {Input({12}), Dense(16, {.activation = "relu"}), Dense(4, {.activation = "softmax"})});
    made.compile({.optimizer = optimizer,
                  .loss = "sparse_categorical_crossentropy",
                  .metrics = {"accuracy"},
                  .context = &context_});
    return made;
  }
};

void expect_message(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    FAIL() << "expected an error that says " << part;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST_F(Strategies, RefuseDevicesAndOptionsThatCannotBeMeant) {
  expect_message([] { MirroredStrategy({.devices = {"cpu:0", "cpu:0"}}); }, "listed twice");
  expect_message([] { MirroredStrategy({.devices = {"cpu:x"}}); }, "expected a number behind");
  expect_message([] { MirroredStrategy({.devices = {"abacus:0"}}); }, "abacus");
  expect_message([] { MirroredStrategy({.communication = {.wire = "int8"}}); },
                 "expected float32 or bfloat16");
  expect_message([] { MirroredStrategy({.communication = {.bucket_bytes = 0}}); }, "bucket_bytes");
  for (double seconds : {0.0, 1e300, std::nan("")})
    expect_message([=] { MirroredStrategy({.communication = {.timeout_seconds = seconds}}); },
                   "timeout_seconds");
  expect_message(
      [] {
        MirroredStrategy(
            {.devices = {"cpu:0", "cpu:1"}, .communication = {.deterministic_shards = 3}});
      },
      "expected a multiple of the 2 devices");
}

TEST_F(Strategies, OneProcessIsAWorkerToo) {
  MultiWorkerMirroredStrategy strategy({.devices = {"cpu"}});
  EXPECT_EQ(strategy.num_workers(), 1);
  EXPECT_EQ(strategy.worker(), 0);
  EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
}

TEST_F(Strategies, WorkersThatOtherLaunchersStartedAreRefused) {
  for (auto [variable, value] : {std::pair{"WORLD_SIZE", "4"}, {"TF_CONFIG", "{}"}}) {
    ::setenv(variable, value, 1);  // NOLINT(concurrency-mt-unsafe)
    try {
      MultiWorkerMirroredStrategy strategy;
      ADD_FAILURE() << variable;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(variable));
      EXPECT_THAT(error.what(), HasSubstr("mpirun -n"));
    }
    ::unsetenv(variable);  // NOLINT(concurrency-mt-unsafe)
  }
}

TEST_F(Strategies, ANaNInOneReplicaSkipsTheStepOnAll) {
  MirroredStrategy strategy({.devices = logical_devices(2)});
  auto scope = strategy.scope();
  Sequential made = model();
  Rows rows = make_rows(64);
  made.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 32, .verbose = 0});
  std::vector<Tensor> before = made.get_weights();
  Tensor bad = rows.x.clone();
  bad.data_mut<float>()[31 * 12] = std::numeric_limits<float>::quiet_NaN();  // of replica 1
  try {
    made.fit(bad, rows.y, {.epochs = 1, .batch_size = 32, .shuffle = false, .verbose = 0});
    FAIL();
  } catch (const NonFiniteError& error) {
    EXPECT_THAT(error.what(), HasSubstr("on replica 1"));
  }
  std::vector<Tensor> after = made.get_weights();
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i].to_vector<float>(), after[i].to_vector<float>());
  made.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 32, .verbose = 0});  // goes on
}

TEST_F(Strategies, WhatTheHostWritesReachesAllReplicas) {
  MirroredStrategy strategy({.devices = logical_devices(3)});
  auto scope = strategy.scope();
  Sequential made = model(), other = model();
  Rows rows = make_rows(96);
  made.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 32, .verbose = 0});
  std::vector<Tensor> start = other.get_weights();
  made.set_weights(start);
  // Each replica evaluates its rows with its own copy.
  EXPECT_NEAR(made.evaluate(rows.x, rows.y, {.verbose = 0})["loss"],
              other.evaluate(rows.x, rows.y, {.verbose = 0})["loss"], 1e-6);
}

TEST_F(Strategies, ModelsAreSavedAndLoadedInsideAndOutsideOfAScope) {
  TempDir folder;
  Rows rows = make_rows(96);
  std::string path = folder / "model.stoker";
  double expected = 0;
  {
    MirroredStrategy strategy({.devices = logical_devices(2)});
    auto scope = strategy.scope();
    Sequential made = model();
    made.fit(rows.x, rows.y, {.epochs = 2, .batch_size = 32, .verbose = 0});
    made.save(path);
    expected = made.evaluate(rows.x, rows.y, {.verbose = 0})["loss"];
    Model again = load_model(path);
    EXPECT_NEAR(again.evaluate(rows.x, rows.y, {.verbose = 0})["loss"], expected, 1e-6);
    again.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 32, .verbose = 0});
  }
  Model outside = load_model(path);
  EXPECT_NEAR(outside.evaluate(rows.x, rows.y, {.verbose = 0})["loss"], expected, 1e-5);
}

TEST_F(Strategies, RefuseBatchesInPartsBeforeAnythingRuns) {
  Rows rows = make_rows(64);
  MirroredStrategy strategy({.devices = logical_devices(2)});
  auto scope = strategy.scope();
  Sequential made = model();
  expect_message(
      [&] {
        made.fit(rows.x, rows.y,
                 {.epochs = 1, .verbose = 0, .on_out_of_memory = OnOutOfMemory::halve});
      },
      "this model trains on 2");
}

TEST_F(Strategies, ScopesNestAndEnd) {
  Rows rows = make_rows(64);
  MirroredStrategy outer({.devices = logical_devices(2)}), inner({.devices = logical_devices(3)});
  auto first = outer.scope();
  {
    auto second = inner.scope();
    Sequential made = model();
    made.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 32, .verbose = 0});
  }
  Sequential made = model();
  made.fit(rows.x, rows.y, {.epochs = 1, .batch_size = 32, .verbose = 0});
}

}  // namespace
}  // namespace stoker::test
