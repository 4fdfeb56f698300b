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
