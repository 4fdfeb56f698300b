// Whole trainings on the CPU: they learn, repeat to the last bit, and go on where they stopped.
#include "../examples/digits.h"
#include "support/temp_dir.h"
#include "support/tsan.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::OnDevice;

Sequential digit_cnn() {
  Sequential model({
      Input({28, 28, 1}),
      Conv2D(8, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(16, 3, {.use_bias = false}),
      BatchNormalization(),
      Activation("relu"),
      MaxPooling2D(2),
      Flatten(),
      Dropout(0.2),
      Dense(10, {.activation = "softmax"}),
  });
  model.compile({.optimizer = Adam({.learning_rate = 3e-3, .global_clipnorm = 5.0}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

TEST(Training, ACnnLearnsDrawnDigits) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 3);
  Digits train = draw_digits(1500, 1), test = draw_digits(300, 2);
  Sequential model = digit_cnn();
  History history = model.fit(train.x, train.y, {.epochs = 6, .validation_data = {test.x, test.y}});
  EXPECT_LT(history["loss"].back(), 0.3 * history["loss"].front());
  EXPECT_GT(model.evaluate(test.x, test.y)["accuracy"], 0.95);
}

TEST(Training, OfOneSeedIsTheSameToTheLastBit) {
  STOKER_SKIP_UNDER_TSAN();
  Digits train = draw_digits(200, 1);
  auto weights = [&](uint64_t seed) {
    OnDevice device("cpu", seed);
    Sequential model = digit_cnn();
    model.fit(train.x, train.y, {.epochs = 2});
    return model.get_weights();
  };
  EXPECT_EQ(weights(5), weights(5));
  EXPECT_NE(weights(5), weights(6));
}

TEST(Training, ThatWasSavedAndLoadedGoesOnAsIfItHadNotStopped) {
  STOKER_SKIP_UNDER_TSAN();
  Digits train = draw_digits(200, 1);
  test::TempDir dir;
  std::vector<Tensor> whole;
  {
    OnDevice device("cpu", 5);
    Sequential model = digit_cnn();
    model.fit(train.x, train.y, {.epochs = 4});
    whole = model.get_weights();
  }
  {
    OnDevice device("cpu", 5);
    Sequential model = digit_cnn();
    model.fit(train.x, train.y, {.epochs = 2});
    model.save(dir / "half.stoker");
  }
  OnDevice device("cpu", 99);
  Model model = load_model(dir / "half.stoker");
  model.fit(train.x, train.y, {.epochs = 4, .initial_epoch = 2});
  EXPECT_EQ(model.get_weights(), whole);
}

TEST(Training, FollowsTheReferenceBackend) {
  STOKER_SKIP_UNDER_TSAN();
  Digits train = draw_digits(24, 1);
  auto losses = [&](const char* name) {
    OnDevice device(name, 5);
    Sequential model({Input({28, 28, 1}), Conv2D(4, 3, {.strides = 2, .activation = "relu"}),
                      MaxPooling2D(2), BatchNormalization(), Flatten(),
                      Dense(10, {.activation = "softmax"})});
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    return model.fit(train.x, train.y, {.epochs = 3, .batch_size = 8})["loss"];
  };
  std::vector<double> reference = losses("reference"), cpu = losses("cpu");
  for (size_t epoch = 0; epoch < reference.size(); ++epoch)
    EXPECT_NEAR(cpu[epoch], reference[epoch], 1e-3 * reference[epoch]);
}

TEST(Training, OfAFrozenBaseMovesOnlyTheHead) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 5);
  Digits train = draw_digits(300, 1);
  Sequential base({Input({28, 28, 1}), Conv2D(8, 3, {.activation = "relu"}), MaxPooling2D(4),
                   BatchNormalization(), Flatten()},
                  {.name = "base"});
  Value in = Input({28, 28, 1});
  Model model(in, Dense(10, {.activation = "softmax"})(base(in)));
  base.set_trainable(false);
  model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  std::vector<Tensor> before = base.get_weights();
  History history = model.fit(train.x, train.y, {.epochs = 5});
  EXPECT_EQ(base.get_weights(), before);
  EXPECT_LT(history["loss"].back(), 0.7 * history["loss"].front());
}

TEST(Training, OfAResidualNetworkWithSharedLayersAndTwoOutputs) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 5);
  Digits train = draw_digits(600, 1);
  Tensor odd(DType::float32, {600, 1});
  for (int64_t i = 0; i < 600; ++i)
    odd.data_mut<float>()[i] = float(train.y.data<int32_t>()[i] % 2);
  Value in = Input({28, 28, 1});
  Value x = Conv2D(8, 3, {.strides = 2, .padding = "same", .activation = "relu"})(in);
  Conv2D shared(8, 3, {.padding = "same"});
  for (int block = 0; block < 2; ++block) x = Activation("relu")(Add()({x, shared(x)}));
  Value features = Flatten()(MaxPooling2D(2)(x));
  Model model({in}, {Dense(10, {.activation = "softmax", .name = "digit"})(features),
                     Dense(1, {.activation = "sigmoid", .name = "odd"})(features)});
  model.compile({.optimizer = Adam({.learning_rate = 5e-3}),
                 .loss = {"sparse_categorical_crossentropy", "binary_crossentropy"},
                 .metrics = {Accuracy({.name = "accuracy"})}});
  History history = model.fit(train.x, {train.y, odd}, {.epochs = 10});
  EXPECT_GT(history["digit_accuracy"].back(), 0.9);
  EXPECT_GT(history["odd_accuracy"].back(), 0.9);
}

}  // namespace
}  // namespace stoker
