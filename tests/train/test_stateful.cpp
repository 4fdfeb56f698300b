// Stateful recurrent layers in training: states go from batch to batch, into files and checkpoints.
#include "train/resuming.h"

namespace stoker {
namespace {

using namespace test;

constexpr int64_t kBatch = 4, kSteps = 6;

Sequential stateful_model(int64_t batch = kBatch) {
  Sequential model({Input({kSteps, 2}, {.batch_size = batch}),
                    LSTM(5, {.return_sequences = true, .stateful = true}),
                    GRU(3, {.stateful = true}), Dense(1)});
  model.compile({.optimizer = Adam({.learning_rate = 0.01}), .loss = "mse"});
  return model;
}

Data sequences(int64_t count) { return {normal({count, kSteps, 2}, 1), normal({count, 1}, 2)}; }

TEST(Stateful, PredictionsGoOnWhereTheBatchBeforeEnded) {
  set_seed(1);
  Sequential model = stateful_model();
  Tensor x = normal({kBatch, kSteps, 2}, 5);
  Tensor first = model.predict_on_batch(x), second = model.predict_on_batch(x);
  EXPECT_NE(first.values<float>()[0], second.values<float>()[0]);
  reset_states(model);
  EXPECT_EQ(model.predict_on_batch(x).values<float>()[0], first.values<float>()[0]);
}

// Keras's way to train on many sequences at once and to go on with one.
TEST(Stateful, WeightsGoToAModelForBatchesOfAnotherSize) {
  set_seed(1);
  Sequential many = stateful_model(), one = stateful_model(1);
  many.fit(sequences(8).x, sequences(8).y, {.batch_size = kBatch, .shuffle = false, .verbose = 0});
  reset_states(many);
  EXPECT_EQ(many.get_weights().size(), 8U);  // three, three and two
  one.set_weights(many.get_weights());
  Tensor x = normal({kBatch, kSteps, 2}, 5);
  expect_near(one.predict_on_batch(x.slice(0, 1)), many.predict_on_batch(x).slice(0, 1), 1e-6);
  EXPECT_EQ(many.weights().size(), 11U);  // with the states, as files have them
}

// Twice T steps in two batches are 2 T steps in one.
TEST(Stateful, TwoBatchesAreOneSequence) {
  set_seed(1);
  auto layer = [](bool stateful) {
    return LSTM(3, {.kernel_initializer = GlorotUniform({.seed = 1}),
                    .recurrent_initializer = Orthogonal(1, {.seed = 2}),
                    .stateful = stateful});
  };
  Sequential halves({Input({3, 2}, {.batch_size = 2}), layer(true)});
  Sequential whole({Input({6, 2}), layer(false)});
  Tensor x = normal({2, 6, 2}, 5), one(DType::float32, {2, 3, 2}), two(DType::float32, {2, 3, 2});
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t i = 0; i < 6; ++i) {
      one.data_mut<float>()[row * 6 + i] = x.values<float>()[size_t(row * 12 + i)];
      two.data_mut<float>()[row * 6 + i] = x.values<float>()[size_t(row * 12 + 6 + i)];
    }
  halves.predict_on_batch(one);
  Tensor got = halves.predict_on_batch(two), expected = whole.predict_on_batch(x);
  for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(got.at(i), expected.at(i), 1e-6);
}

TEST(Stateful, AFileHoldsTheStates) {
  set_seed(1);
  TempDir dir;
  Sequential model = stateful_model();
  Data data = sequences(kBatch);
  model.train_on_batch(data.x, data.y);
  std::string path = dir / "model.stoker";
  EXPECT_NE(model.summary().find("lstm"), std::string::npos);
  model.save(path);
  Model again = load_model(path);
  EXPECT_EQ(weights_sha256(again), weights_sha256(model));
  Tensor a = model.predict_on_batch(data.x), b = again.predict_on_batch(data.x);
  for (int64_t i = 0; i < a.elements(); ++i) EXPECT_EQ(a.at(i), b.at(i));
}

TEST(Stateful, AnotherBatchSizeIsAnErrorWithAdvice) {
  Sequential model = stateful_model();
  std::string message;
  try {
    model.predict_on_batch(normal({3, kSteps, 2}, 1));
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("drop_remainder"), std::string::npos) << message;
}

Outcome train_stateful(BackupAndRestore backup) {
  set_seed(3);
  Sequential model = stateful_model();
  Data data = sequences(6 * kBatch);
  FitArgs args{.epochs = 3, .batch_size = kBatch};
  args.verbose = 0;
  args.shuffle = false;
  args.callbacks.emplace_back(backup);
  Outcome outcome;
  outcome.history = model.fit(data.x, data.y, args);
  outcome.weights = weights_sha256(model);  // states included
  outcome.resumed_from = backup.resumed_from();
  return outcome;
}

TEST(Stateful, ATrainingThatIsStoppedGoesOnExactly) {
  TempDir whole, parts;
  Outcome expected = train_stateful(BackupAndRestore(whole / "c"));
  for (int stops = 0;; ++stops) {
    try {
      Outcome got = train_stateful(BackupAndRestore(parts / "c", {.stop_after_steps = 4}));
      EXPECT_GT(stops, 0);
      return expect_same(got, expected);
    } catch (const Interrupted&) {
      ASSERT_LT(stops, 10);
    }
  }
}

}  // namespace
}  // namespace stoker
