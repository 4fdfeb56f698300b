// Training on several processes follows the training in one.
#include "distribute/distributed_case.h"
#include "distribute/mpi/mpi_transport.h"

namespace stoker::test {
namespace {

Trained train_on_all(const Training& training, const CommunicationOptions& communication = {}) {
  MultiWorkerMirroredStrategy strategy(
      {.devices = {test_device()}, .communication = communication});
  auto scope = strategy.scope();
  return train(training);
}

// One process per rank: as many as mpirun started.
int64_t processes() { return MultiWorkerMirroredStrategy().num_workers(); }

TEST(MultiWorker, FollowsOneProcess) {
  Training training;
  expect_close(train(training), train_on_all(training));
}

TEST(MultiWorker, FollowsOneProcessWithSampleWeightsAndAnUnevenEnd) {
  Training training{.rows = 33, .weighted = true};
  expect_close(train(training), train_on_all(training));
}

TEST(MultiWorker, FollowsOneProcessWithSynchronizedBatchNormalization) {
  Training training{.layers =
                        [] {
                          return std::vector<Layer>{
                              Input({12}), Dense(24), BatchNormalization({.synchronized = true}),
                              Activation("relu"), Dense(4, {.activation = "softmax"})};
                        },
                    .rows = 224};
  expect_close(train(training), train_on_all(training), 2e-4);
}

TEST(MultiWorker, RepeatsItselfToTheBit) {
  Training training{.layers = [] {
    return std::vector<Layer>{Input({12}), Dense(600, {.activation = "relu"}), Dropout(0.3),
                              Dense(4, {.activation = "softmax"})};
  }};
  CommunicationOptions buckets{.bucket_bytes = 1 << 14};
  EXPECT_TRUE(same_bits(train_on_all(training, buckets), train_on_all(training, buckets)));
}

// Large enough for the exchange in two rounds.
TEST(MultiWorker, HasTheBitsOfReplicasInOneProcess) {
  Training training{.layers = [] {
    return std::vector<Layer>{Input({12}), Dense(600, {.activation = "relu"}),
                              Dense(4, {.activation = "softmax"})};
  }};
  for (const char* wire : {"float32", "bfloat16"}) {
    CommunicationOptions options{.wire = wire};
    Trained together = train_on_all(training, options);
    MirroredStrategy mirrored(
        {.devices = logical_devices(int(processes())), .communication = options});
    auto scope = mirrored.scope();
    EXPECT_TRUE(same_bits(together, train(training))) << wire;
  }
}

TEST(MultiWorker, HasTheSameBitsOnAnyNumberOfProcessesInTheDeterministicMode) {
  Training training{.layers = [] {
    return std::vector<Layer>{
        Input({12}),        Dense(300),   BatchNormalization({.synchronized = true}),
        Activation("relu"), Dropout(0.2), Dense(4, {.activation = "softmax"})};
  }};
  CommunicationOptions fixed{.deterministic_shards = 4, .shard_threads = 1};
  Trained together = train_on_all(training, fixed);
  MirroredStrategy one({.devices = {"cpu"}, .communication = fixed});
  auto scope = one.scope();
  EXPECT_TRUE(same_bits(together, train(training)));
}

Trained train_sharded(const Training& training, const CommunicationOptions& communication = {}) {
  MultiWorkerMirroredStrategy strategy(
      {.devices = {test_device()}, .communication = communication, .shard_optimizer = true});
  auto scope = strategy.scope();
  return train(training);
}

TEST(MultiWorker, HasTheSameBitsWhereTheOptimizersStateIsShared) {
  Training training{.layers = [] {
    return std::vector<Layer>{Input({12}), Dense(300, {.activation = "relu"}), Dropout(0.3),
                              Dense(4, {.activation = "softmax"})};
  }};
  EXPECT_TRUE(same_bits(train_on_all(training), train_sharded(training)));
  CommunicationOptions fixed{.deterministic_shards = 4};
  EXPECT_TRUE(same_bits(train_on_all(training, fixed), train_sharded(training, fixed)));
}

TEST(MultiWorker, HasTheSameBitsWithSharedStateAndMovingAverages) {
  Training training{.optimizer = [] {
    return Optimizer(Adam({.global_clipnorm = 0.5, .use_ema = true, .ema_momentum = 0.8}));
  }};
  EXPECT_TRUE(same_bits(train_on_all(training), train_sharded(training)));
}

// After fit all of it is on every process; a step by hand leaves each process its share.
TEST(MultiWorker, HasAllOfTheSharedStateAfterFitAndSaysWhereItIsInBetween) {
  MultiWorkerMirroredStrategy strategy({.devices = {"cpu"}, .shard_optimizer = true});
  auto scope = strategy.scope();
  Rows rows = make_rows(64);
  Context context{.seed = 3, .threads = {.compute = 1}, .device = "cpu", .out = nullptr};
  set_seed(3);
  Sequential model({Input({12}), Dense(8, {.activation = "relu"}), Dense(8), Dense(4)});
  Adam adam;
  model.compile({.optimizer = adam, .loss = "mse", .context = &context});
  Tensor y = Tensor::zeros({64, 4});
  auto readable = [&] {
    int64_t count = 0;
    for (const Variable& variable : adam.variables()) try {
        (void)variable.read();
        ++count;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("the strategy shards"), std::string::npos);
      }
    return count;
  };
  auto all = int64_t(adam.variables().size());
  model.fit(rows.x, y, {.epochs = 2, .batch_size = 16, .verbose = 0});
  EXPECT_EQ(readable(), all);
  model.train_on_batch(rows.x, y);
  if (strategy.num_workers() == 1)
    EXPECT_EQ(readable(), all);
  else
    EXPECT_LT(readable(), all);
  model.fit(rows.x, y, {.epochs = 1, .batch_size = 16, .verbose = 0});  // goes on
  EXPECT_EQ(readable(), all);
}

// Every process calls the function with the whole batch.
TEST(MultiWorker, RunsFunctionsOnAllProcesses) {
  Rows rows = make_rows(33);
  Context context{.seed = 3, .threads = {.compute = 1}, .device = "cpu", .out = nullptr};
  auto losses = [&] {
    set_seed(3);
    Sequential model({Input({12}), Dense(8, {.activation = "relu"}), Dense(4)});
    Adam adam;
    auto step = function(
        [&](Value x, Value y) {
          Value loss = sparse_categorical_crossentropy(y, model(x), {.from_logits = true});
          adam.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
          return loss;
        },
        {.context = &context});
    std::vector<double> all;
    for (int i = 0; i < 5; ++i) all.push_back(step(rows.x, rows.y));
    return all;
  };
  std::vector<double> alone = losses();
  MultiWorkerMirroredStrategy strategy({.devices = {"cpu"}});
  auto scope = strategy.scope();
  std::vector<double> together = losses();
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], together[i], 1e-5) << i;
}

// Processes build their models by themselves, with seeds of their own.
TEST(MultiWorker, BeginsWithTheWeightsOfTheFirstProcess) {
  MultiWorkerMirroredStrategy strategy({.devices = {"cpu"}});
  auto scope = strategy.scope();
  Rows rows = make_rows(96);
  Context context{.seed = uint64_t(100 + strategy.worker()), .device = "cpu", .out = nullptr};
  set_seed(uint64_t(100 + strategy.worker()));
  Sequential model({Input({12}), Dense(8, {.activation = "relu"}), Dropout(0.5),
                    Dense(4, {.activation = "softmax"})});
  model.compile({.loss = "sparse_categorical_crossentropy", .context = &context});
  model.fit(rows.x, rows.y, {.epochs = 2, .batch_size = 32, .verbose = 0});
  double sum = 0;
  Tensor predicted = model.predict(rows.x);
  for (float value : predicted.values<float>()) sum += double(value) * value;
  std::vector<double> sums(size_t(strategy.num_workers()));
  if (strategy.num_workers() > 1)
    distribute::mpi_transport(std::chrono::seconds(60)).all_gather(&sum, sizeof sum, sums.data());
  else
    sums = {sum};
  EXPECT_EQ(sums, std::vector<double>(sums.size(), sums[0]));
}

}  // namespace
}  // namespace stoker::test
