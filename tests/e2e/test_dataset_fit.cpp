// Training, evaluating and predicting from a Dataset, from the source to the weights.
#include "../examples/digits.h"
#include "support/temp_dir.h"
#include "support/tsan.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::OnDevice;

Sequential small_cnn(int64_t channels = 1) {
  Sequential model({
      Input({28, 28, channels}),
      Conv2D(8, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(16, 3, {.activation = "relu"}),
      MaxPooling2D(2),
      Flatten(),
      Dense(10, {.activation = "softmax"}),
  });
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

// Digits as bytes, which the pipeline scales: pixels that come out as they went in, but for
// rounding.
data::Dataset bytes_of(const Digits& digits) {
  return data::from_slices({image::convert(DType::uint8)(digits.x), digits.y});
}

data::Dataset training_of(const Digits& digits) {
  return bytes_of(digits)
      .shuffle()
      .map(image::random_crop(28, 28, {.padding = 1}) | image::convert(DType::float32))
      .batch(32);
}

data::Dataset plain_of(const Digits& digits) {
  return bytes_of(digits).map(image::convert(DType::float32)).batch(50);
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// The number of pipeline threads, for one test.
struct PipelineThreads {
  explicit PipelineThreads(int threads) { set_threads({.pipeline = threads, .compute = 0}); }
  ~PipelineThreads() { set_threads({}); }
};

TEST(DatasetFit, LearnsAsWellAsFromArrays) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 3);
  Digits train = draw_digits(1000, 1), test = draw_digits(300, 2);
  Sequential from_arrays = small_cnn(), from_dataset = small_cnn();
  from_arrays.fit(train.x, train.y, {.epochs = 5});
  from_dataset.fit(training_of(train), {.epochs = 5});
  double arrays = from_arrays.evaluate(test.x, test.y)["accuracy"];
  double dataset = from_dataset.evaluate(test.x, test.y)["accuracy"];
  EXPECT_GT(dataset, 0.85);
  EXPECT_GT(dataset, arrays - 0.05);
}

TEST(DatasetFit, GivesTheWeightsOfArraysInTheSameOrder) {
  STOKER_SKIP_UNDER_TSAN();
  Digits train = draw_digits(200, 1);
  auto weights = [&](auto fit) {
    OnDevice device("cpu", 5);
    Sequential model = small_cnn();
    fit(model);
    return model.get_weights();
  };
  EXPECT_EQ(weights([&](const Sequential& model) {
              model.fit(train.x, train.y, {.epochs = 2, .batch_size = 32, .shuffle = false});
            }),
            weights([&](const Sequential& model) {
              model.fit(data::from_slices({train.x, train.y}).batch(32), {.epochs = 2});
            }));
}

TEST(DatasetFit, IsTheSameAtAnyNumberOfPipelineThreads) {
  STOKER_SKIP_UNDER_TSAN();
  Digits train = draw_digits(200, 1);
  auto weights = [&](int threads) {
    OnDevice device("cpu", 5);
    PipelineThreads pipeline(threads);
    Sequential model = small_cnn();
    model.fit(training_of(train), {.epochs = 3});
    return model.get_weights();
  };
  EXPECT_EQ(weights(1), weights(4));
}

TEST(DatasetFit, ValidatesEvaluatesAndPredictsWithDatasets) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 5);
  Digits train = draw_digits(300, 1), test = draw_digits(120, 2);
  Sequential model = small_cnn();
  data::Dataset tested = plain_of(test);
  History history = model.fit(training_of(train), {.epochs = 2, .validation_data = tested});
  Logs scores = model.evaluate(tested);
  EXPECT_EQ(history["val_loss"].back(), scores["loss"]);
  EXPECT_EQ(history["val_accuracy"].back(), scores["accuracy"]);

  Tensor predicted = model.predict(tested);  // the labels are left aside
  ASSERT_EQ(predicted.shape(), Shape({120, 10}));
  int64_t right = 0;
  for (int64_t row = 0; row < 120; ++row) {
    auto values = predicted[row].values<float>();
    auto best = std::max_element(values.begin(), values.end()) - values.begin();
    right += best == test.y.data<int32_t>()[row];
  }
  EXPECT_NEAR(double(right) / 120, scores["accuracy"], 1e-6);
}

TEST(DatasetFit, TakesSoManyStepsOfADatasetWithoutEnd) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 5);
  Digits train = draw_digits(100, 1);
  auto endless = bytes_of(train).shuffle().repeat().map(image::convert(DType::float32)).batch(32);
  int64_t steps = 0;
  struct Count : Callback {
    explicit Count(int64_t& steps) : steps_(steps) {}
    void on_train_batch_end(int64_t, const Logs&) override { ++steps_; }
    int64_t& steps_;
  } count(steps);
  History history =
      small_cnn().fit(endless, {.epochs = 3, .steps_per_epoch = 7, .callbacks = {count}});
  EXPECT_EQ(steps, 21);
  EXPECT_EQ(history["loss"].size(), 3U);
}

TEST(DatasetFit, RefusesADatasetWithoutEndWhenNobodySaysHowMuchIsAnEpoch) {
  OnDevice device;
  Digits train = draw_digits(8, 1);
  auto endless = data::from_slices({train.x, train.y}).repeat().batch(4);
  Sequential model = small_cnn();
  auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const ValueError& error) {
      return error.what();
    }
    return "no error";
  };
  expect_contains(message([&] { model.fit(endless); }), "steps_per_epoch");
  expect_contains(message([&] { model.evaluate(endless); }), "evaluate");
  expect_contains(message([&] { model.predict(endless); }), "predict");
}

TEST(DatasetFit, StopsAtABadElementWithItsAddressAndKeepsWhatWasTrained) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 5);
  Digits train = draw_digits(128, 1);
  auto picky = [](int64_t number, Tensor x, int32_t y) {
    if (number == 100) throw std::runtime_error("this one is spoiled");
    return std::tuple(std::move(x), y);
  };
  data::ElementSpec spec = {{DType::float32, {28, 28, 1}}, {DType::int32, {}}};
  auto dataset = data::from_slices({train.x, train.y})
                     .enumerate()
                     .map(picky, {.name = "picky", .spec = spec})
                     .batch(32);
  Sequential model = small_cnn(), same_steps = small_cnn();
  same_steps.set_weights(model.get_weights());
  try {
    model.fit(dataset, {.epochs = 2});
    FAIL() << "the error did not arrive";
  } catch (const data::ElementError& error) {
    EXPECT_EQ(error.stage(), "map(\"picky\")");
    EXPECT_EQ(error.index(), 100);
    expect_contains(std::string(error.what()), "this one is spoiled");
  }
  // Three batches came before the bad one.
  same_steps.fit(train.x.slice(0, 96), train.y.slice(0, 96), {.batch_size = 32, .shuffle = false});
  EXPECT_EQ(model.get_weights(), same_steps.get_weights());
}

// JPEG files of digits, a folder per class.
void write_folder(const test::TempDir& dir, const std::string& part, const Digits& digits) {
  auto encode = image::convert(DType::uint8) | image::encode_jpeg({.quality = 92});
  for (int64_t i = 0; i < digits.y.elements(); ++i) {
    std::string file =
        std::to_string(digits.y.data<int32_t>()[i]) + "/" + std::to_string(1000 + i) + ".jpg";
    dir.write(part + "/" + file, encode(digits.x[i]).values<std::string>()[0]);
  }
}

TEST(DatasetFit, LearnsFromAFolderOfJpegFilesWithOneThatIsBroken) {
  STOKER_SKIP_UNDER_TSAN();
  OnDevice device("cpu", 3);
  test::TempDir dir;
  write_folder(dir, "train", draw_digits(600, 1));
  write_folder(dir, "test", draw_digits(100, 2));
  dir.write("train/3/broken.jpg", "this is no picture");

  auto decode =
      image::decode_jpeg({.channels = 1}) | image::convert(DType::float32) | image::resize(28, 28);
  auto train = data::image_folder(dir / "train")
                   .shuffle()
                   .map(decode)
                   .on_error(data::OnError::replace)
                   .batch(32);
  auto test = data::image_folder(dir / "test").map(decode).batch(50);
  Sequential model = small_cnn();
  model.fit(train, {.epochs = 6, .validation_data = test});
  EXPECT_GT(model.evaluate(test)["accuracy"], 0.75);
  expect_contains(train.explain(), "quarantine: ");
}

TEST(DatasetFit, ShowsThatAConsumerWithoutWorkersWaits) {
  auto slow = data::range(100).batch(10).prefetch(0);
  for (const Batch& batch : slow) (void)batch;
  EXPECT_EQ(slow.explain_json().find("\"consumer_wait_share\":0.0,"), std::string::npos)
      << slow.explain_json();
}

}  // namespace
}  // namespace stoker
