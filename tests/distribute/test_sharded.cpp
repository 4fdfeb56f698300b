// Optimiser state that replicas share (ZeRO-1) changes memory, and nothing else.
#include <gmock/gmock.h>

#include "distribute/distributed_case.h"
#include "graph/state_shards.h"
#include "support/temp_dir.h"
#include "support/tsan.h"

namespace stoker::test {
namespace {

using ::testing::ElementsAre;

Variable sized(const char* name, int64_t elements) {
  return Variable(name, Tensor::zeros({elements}));
}

TEST(StateShards, GiveTheLargestFirstToWhoHasLeast) {
  std::vector<Variable> parameters = {sized("a", 10), sized("b", 100), sized("c", 60),
                                      sized("d", 50)};
  StateShards shards(2);
  EXPECT_THAT(shards.owners(parameters), ElementsAre(0, 0, 1, 1));
}

TEST(StateShards, LeaveKnownParametersWhereTheyAre) {
  std::vector<Variable> parameters = {sized("a", 10), sized("b", 100)};
  StateShards shards(2);
  std::vector<int64_t> first = shards.owners(parameters);
  parameters.insert(parameters.begin(), sized("c", 1000));
  EXPECT_THAT(shards.owners(parameters), ElementsAre(1, first[0], first[1]));
}

Trained train_mirrored(const Training& training, int devices, bool sharded,
                       const CommunicationOptions& communication = {}) {
  MirroredStrategy strategy({.devices = logical_devices(devices),
                             .communication = communication,
                             .shard_optimizer = sharded});
  auto scope = strategy.scope();
  return train(training);
}

class Sharded : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }

  void expect_same(const Training& training, const CommunicationOptions& communication = {}) {
    EXPECT_TRUE(same_bits(train_mirrored(training, GetParam(), false, communication),
                          train_mirrored(training, GetParam(), true, communication)));
  }
  void expect_same(const std::function<Optimizer()>& optimizer) {
    Training training;
    training.optimizer = optimizer;
    expect_same(training);
  }
};

TEST_P(Sharded, HasTheBitsOfTheUnshardedTraining) { expect_same(Training()); }

TEST_P(Sharded, HasTheSameBitsInSmallBuckets) { expect_same(Training(), {.bucket_bytes = 64}); }

TEST_P(Sharded, HasTheSameBitsWithBfloat16OnTheWire) {
  expect_same(Training(), {.wire = "bfloat16"});
}

TEST_P(Sharded, HasTheSameBitsInTheDeterministicMode) {
  expect_same(Training(), {.deterministic_shards = 12});
}

// The last batch has one row: replicas without rows own weights all the same.
TEST_P(Sharded, HasTheSameBitsWhenTheLastBatchHasFewerRowsThanReplicas) {
  expect_same(Training{.rows = 33});
}

TEST_P(Sharded, HasTheSameBitsWithClippingByTheGlobalNorm) {
  expect_same([] {
    return Optimizer(SGD({.learning_rate = 0.5, .momentum = 0.9, .global_clipnorm = 0.1}));
  });
}

TEST_P(Sharded, HasTheSameBitsWithAScaledLossThatSkipsSteps) {
  expect_same([] {
    return Optimizer(
        LossScaleOptimizer(Adam(), {.initial_scale = 16777216, .dynamic_growth_steps = 5}));
  });
}

TEST_P(Sharded, HasTheSameBitsWithAccumulatedGradients) {
  expect_same([] { return Optimizer(Adam({.gradient_accumulation_steps = 2})); });
}

TEST_P(Sharded, HasTheSameBitsWithMovingAverages) {
  expect_same([] {
    return Optimizer(Adam({.use_ema = true, .ema_momentum = 0.8, .ema_overwrite_frequency = 3}));
  });
}

TEST_P(Sharded, HasTheSameBitsWithExclusionsFromWeightDecay) {
  expect_same([] {
    Optimizer optimizer = AdamW({.weight_decay = 0.1, .clipnorm = 1.0});
    optimizer.exclude_from_weight_decay({}, {"bias"});
    return optimizer;
  });
}

TEST_P(Sharded, HasTheSameBitsWithRulesThatLookAtWholeWeights) {
  for (const char* name : {"lamb", "muon", "adafactor"})
    expect_same([name] { return Optimizer(name); });
}

TEST_P(Sharded, HasTheSameBitsWithConstraints) {
  expect_same(Training{.layers = [] {
    return std::vector<Layer>{Input({12}),
                              Dense(24, {.activation = "relu", .kernel_constraint = MaxNorm(1.0)}),
                              Dense(4, {.activation = "softmax"})};
  }});
}

INSTANTIATE_TEST_SUITE_P(Replicas, Sharded, ::testing::Values(1, 2, 3, 4));

class ShardedModels : public ::testing::Test {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
  Context context_{.seed = 3, .threads = {.compute = 1}, .device = "cpu", .out = nullptr};

  Sequential model() {
    set_seed(3);
    Sequential made({Input({12}), Dense(32, {.activation = "relu"}),
                     Dense(32, {.activation = "relu"}), Dense(4, {.activation = "softmax"})});
    made.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .context = &context_});
    return made;
  }
};

TEST_F(ShardedModels, PlanLessMemoryForTheOptimizer) {
  auto planned = [&](bool sharded) {
    MirroredStrategy strategy({.devices = logical_devices(2), .shard_optimizer = sharded});
    auto scope = strategy.scope();
    return model().memory_plan(32)->optimizer;
  };
  size_t whole = planned(false), share = planned(true);
  EXPECT_LT(double(share), 0.75 * double(whole));
  EXPECT_GT(double(share), 0.25 * double(whole));
}

// A run with one setting goes on with another, from the same file, to the same weights.
TEST_F(ShardedModels, GoOnFromCheckpointsWithAndWithoutSharding) {
  Rows rows = make_rows(96);
  CommunicationOptions fixed{.deterministic_shards = 6};
  auto run = [&](const std::string& folder, int devices, bool sharded, int64_t epochs) {
    MirroredStrategy strategy(
        {.devices = logical_devices(devices), .communication = fixed, .shard_optimizer = sharded});
    auto scope = strategy.scope();
    Sequential made = model();
    BackupAndRestore backup(folder, {.delete_checkpoint = false});
    made.fit(rows.x, rows.y,
             {.epochs = epochs, .batch_size = 32, .verbose = 0, .callbacks = {backup}});
    return made.get_weights();
  };
  TempDir whole, first, second;
  std::vector<Tensor> expected = run(whole / "run", 2, false, 4);
  run(first / "run", 3, true, 2);
  run(second / "run", 2, false, 2);
  std::vector<Tensor> unsharded = run(first / "run", 1, false, 4);
  std::vector<Tensor> sharded = run(second / "run", 6, true, 4);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(unsharded[i].to_vector<float>(), expected[i].to_vector<float>());
    EXPECT_EQ(sharded[i].to_vector<float>(), expected[i].to_vector<float>());
  }
}

}  // namespace
}  // namespace stoker::test
