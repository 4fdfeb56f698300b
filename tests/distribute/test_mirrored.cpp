// Training on the logical devices of a CPU follows the training on one device.
#include "distribute/distributed_case.h"
#include "support/tsan.h"

namespace stoker::test {
namespace {

Trained train_mirrored(const Training& training, int devices,
                       const CommunicationOptions& communication = {}) {
  MirroredStrategy strategy({.devices = logical_devices(devices), .communication = communication});
  auto scope = strategy.scope();
  EXPECT_EQ(strategy.num_replicas_in_sync(),
            std::max<int64_t>(devices, communication.deterministic_shards));
  return train(training);
}

class Mirrored : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
};

TEST_P(Mirrored, FollowsOneDevice) {
  Training training;
  expect_close(train(training), train_mirrored(training, GetParam()));
}

TEST_P(Mirrored, FollowsOneDeviceWithSampleWeights) {
  Training training{.weighted = true};
  expect_close(train(training), train_mirrored(training, GetParam()));
}

// The last batch has one row: all replicas but one have none.
TEST_P(Mirrored, FollowsOneDeviceWhenTheLastBatchHasFewerRowsThanReplicas) {
  Training training{.rows = 33};
  expect_close(train(training), train_mirrored(training, GetParam()));
}

TEST_P(Mirrored, FollowsOneDeviceWithClippingByTheGlobalNorm) {
  Training training{.optimizer = [] {
    return Optimizer(SGD({.learning_rate = 0.5, .momentum = 0.9, .global_clipnorm = 0.1}));
  }};
  expect_close(train(training), train_mirrored(training, GetParam()));
}

TEST_P(Mirrored, FollowsOneDeviceWithAScaledLoss) {
  Training training{.optimizer = [] {
    return Optimizer(
        LossScaleOptimizer(Adam(), {.initial_scale = 1024, .dynamic_growth_steps = 5}));
  }};
  expect_close(train(training), train_mirrored(training, GetParam()));
}

TEST_P(Mirrored, FollowsOneDeviceWithAccumulatedGradients) {
  Training training{
      .optimizer = [] { return Optimizer(Adam({.gradient_accumulation_steps = 2})); }};
  expect_close(train(training), train_mirrored(training, GetParam()));
}

TEST_P(Mirrored, FollowsOneDeviceWithSynchronizedBatchNormalization) {
  Training alone{.layers = [] {
    return std::vector<Layer>{Input({12}), Dense(24), BatchNormalization({.synchronized = true}),
                              Activation("relu"), Dense(4, {.activation = "softmax"})};
  }};
  Training last_batch = alone;
  last_batch.rows = 224;  // whole batches: one row alone has no variance
  expect_close(train(last_batch), train_mirrored(last_batch, GetParam()), 2e-4);
}

TEST_P(Mirrored, FollowsOneDeviceWithARegularizer) {
  Training training{.layers = [] {
    return std::vector<Layer>{
        Input({12}), Dense(24, {.activation = "relu", .kernel_regularizer = L2(0.01)}),
        Dense(4, {.activation = "softmax", .activity_regularizer = L2(0.01)})};
  }};
  expect_close(train(training), train_mirrored(training, GetParam()));
}

TEST_P(Mirrored, RepeatsItselfToTheBit) {
  Training training{.layers = [] {
    return std::vector<Layer>{Input({12}), Dense(24, {.activation = "relu"}), Dropout(0.3),
                              Dense(4, {.activation = "softmax"})};
  }};
  EXPECT_TRUE(
      same_bits(train_mirrored(training, GetParam()), train_mirrored(training, GetParam())));
}

TEST_P(Mirrored, TrainsWithBfloat16OnTheWire) {
  Training training;
  Trained exact = train(training),
          narrow = train_mirrored(training, GetParam(), {.wire = "bfloat16"});
  expect_close(exact, narrow, 2e-2);
  EXPECT_EQ(same_bits(exact, narrow), GetParam() == 1);
}

TEST_P(Mirrored, HasTheSameBitsOnAnyNumberOfDevicesInTheDeterministicMode) {
  Training training{.layers = [] {
    return std::vector<Layer>{
        Input({12}),        Dense(24),    BatchNormalization({.synchronized = true}),
        Activation("relu"), Dropout(0.2), Dense(4, {.activation = "softmax"})};
  }};
  CommunicationOptions fixed{.deterministic_shards = 12, .shard_threads = 1};
  Trained one = train_mirrored(training, 1, fixed);
  EXPECT_TRUE(same_bits(one, train_mirrored(training, GetParam(), fixed)));
}

INSTANTIATE_TEST_SUITE_P(Replicas, Mirrored, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace stoker::test
