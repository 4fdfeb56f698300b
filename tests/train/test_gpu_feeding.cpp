// Training on a GPU fed by a pipeline, as users write it: uint8 pictures, scaled by the model.
#include <gtest/gtest.h>

#include "train/helpers.h"
#include "train/model/weights_hash.h"

namespace stoker::test {

namespace {

constexpr int64_t kPictures = 150, kBatch = 32;  // the last batch is smaller

class GpuFeeding : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  }
  Context context(bool plain = false) {
    return {.seed = 4,
            .device = "cuda",
            .policy = GetParam(),
            .capture = !plain,
            .pin = !plain,
            .out = nullptr};
  }
};
INSTANTIATE_TEST_SUITE_P(Policies, GpuFeeding,
                         testing::Values("float32", "mixed_bfloat16", "mixed_float16"),
                         [](const auto& policy) { return policy.param; });

// Four kinds of stripes under noise.
Data pictures(int64_t count, uint64_t seed) {
  Tensor x(DType::uint8, {count, 14, 14, 3}), y(DType::int32, {count});
  auto* pixel = x.data_mut<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    Rng rng(seed, uint64_t(i));
    auto kind = int32_t(rng.integer(0, 4));
    y.data_mut<int32_t>()[i] = kind;
    for (int64_t row = 0; row < 14; ++row)
      for (int64_t column = 0; column < 14; ++column)
        for (int64_t channel = 0; channel < 3; ++channel) {
          bool bright = ((kind % 2 == 0 ? row : column) / (kind < 2 ? 1 : 3)) % 2 == 0;
          *pixel++ = uint8_t((bright ? 140 : 40) + rng.integer(0, 60));
        }
  }
  return {x, y};
}

Sequential picture_model(Context& context) {
  set_seed(2);
  Sequential model({Input({14, 14, 3}, {.dtype = DType::uint8}), Rescaling(1.0 / 127.5, -1.0),
                    Conv2D(16, 3, {.use_bias = false}), BatchNormalization(), Activation("relu"),
                    MaxPooling2D(), Conv2D(24, 3, {.activation = "relu"}), Flatten(), Dropout(0.2),
                    Dense(4, {.activation = "softmax", .dtype = "float32"})});
  model.compile({.optimizer = Adam({.learning_rate = 5e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .context = &context});
  return model;
}

struct Trained {
  Sequential model;
  History history;
  std::string weights;
};

template <class Fit>
Trained train(Context& context, Fit fit) {
  Sequential model = picture_model(context);
  History history = fit(model);
  return {model, history, weights_sha256(model)};
}

void expect_same(const Trained& got, const Trained& expected) {
  EXPECT_EQ(got.weights, expected.weights);
  ASSERT_EQ(got.history.names(), expected.history.names());
  for (const std::string& name : got.history.names())
    EXPECT_EQ(got.history[name], expected.history[name]) << name;
}

data::Dataset pipeline(const Data& data) {
  return data::from_slices({data.x, data.y}).batch(kBatch).prefetch(AUTOTUNE);
}

TEST_P(GpuFeeding, APipelineTrainsAsTheSameArraysDo) {
  Data data = pictures(kPictures, 1);
  Context first = context(), second = context();
  data::Dataset dataset = pipeline(data);
  Trained fed = train(first, [&](Model& model) { return model.fit(dataset, {.epochs = 4}); });
  Trained arrays = train(second, [&](Model& model) {
    return model.fit(data.x, data.y, {.epochs = 4, .batch_size = kBatch, .shuffle = false});
  });
  expect_same(fed, arrays);
  EXPECT_TRUE(says(dataset.explain(), {"pinned"}));
  EXPECT_GT(fed.history["accuracy"].back(), 0.9);
}

TEST_P(GpuFeeding, CaptureAndPageLockedMemoryChangeNothing) {
  Data data = pictures(kPictures, 1);
  Context fast = context(), plain = context(true);
  auto fit = [&](Model& model) { return model.fit(pipeline(data), {.epochs = 2}); };
  expect_same(train(fast, fit), train(plain, fit));
}

TEST_P(GpuFeeding, ArraysMadeAheadTrainAsPlainOnesDo) {
  Data data = pictures(kPictures, 1), validation = pictures(50, 2);
  Context ahead = context(), plain = context(true);
  auto fit = [&](Model& model) {
    return model.fit(data.x, data.y,
                     {.epochs = 3,
                      .batch_size = kBatch,
                      .validation_data = ValidationData{validation.x, validation.y}});
  };
  expect_same(train(ahead, fit), train(plain, fit));
}

TEST_P(GpuFeeding, ShuffledAndAugmentedRunsAreBitIdentical) {
  Data data = pictures(kPictures, 1), validation = pictures(50, 2);
  auto fit = [&](Model& model) {
    data::Dataset dataset = data::from_slices({data.x, data.y})
                                .shuffle()
                                .map([](const Tensor& x, int32_t y, Rng& rng) {
                                  Tensor out = x.clone();
                                  auto* pixels = out.data_mut<uint8_t>();
                                  auto shift = uint8_t(rng.integer(0, 20));
                                  for (int64_t i = 0; i < out.elements(); ++i) pixels[i] += shift;
                                  return std::tuple(out, y);
                                })
                                .batch(kBatch)
                                .prefetch(AUTOTUNE);
    return model.fit(dataset, {.epochs = 3, .validation_data = pipeline(validation)});
  };
  Context first = context(), second = context();
  expect_same(train(first, fit), train(second, fit));
}

TEST_P(GpuFeeding, EvaluationAndPredictionTakePipelinesToo) {
  Data data = pictures(kPictures, 1);
  Context one = context();
  Sequential model = picture_model(one);
  model.fit(pipeline(data), {.epochs = 2});
  Logs fed = model.evaluate(pipeline(data));
  Logs arrays = model.evaluate(data.x, data.y, {.batch_size = kBatch});
  for (const char* name : {"loss", "accuracy"}) EXPECT_EQ(fed[name], arrays[name]) << name;
  Tensor predicted = model.predict(pipeline(data));
  ASSERT_EQ(predicted.shape()[0], kPictures);
  EXPECT_EQ(predicted, model.predict(data.x, {.batch_size = kBatch}));
}

}  // namespace

}  // namespace stoker::test
