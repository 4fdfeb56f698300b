// Weights of every pixel and token. The expected numbers are Keras 3.15's.
#include <cmath>

#include <stoker/losses.h>
#include <stoker/metrics.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

const Tensor kTokens =
    floats({.5F, .5F, .25F, .75F, .9F, .1F, .2F, .8F, .6F, .4F, .3F, .7F}, {2, 3, 2});
const Tensor kTokenIds = Tensor::from<int32_t>({0, 1, 1, 1, 0, 0}, {2, 3});
const Tensor kPixels = floats({.9F, .2F, .6F, .1F, .7F, .4F}, {2, 3, 1});
const Tensor kMask = floats({1, 0, 0, 0, 1, 1}, {2, 3, 1});
const Tensor kWeights = floats({1, 0, 2, 0, 3, .5F}, {2, 3});

double weighted(const Loss& loss, const Tensor& y, const Tensor& p, const Tensor& weight,
                const std::string& device = "reference") {
  return run({y, p, weight},
             [&](Graph&, const Values& in) { return Values{loss(in[0], in[1], in[2])}; },
             {.device = device})[0]
      .item();
}

double weighted(const Metric& metric, const Tensor& y, const Tensor& p, const Tensor& weight) {
  Metric fresh = metric.clone();
  run({y, p, weight}, [&](Graph&, const Values& in) {
    fresh.update(in[0], in[1], in[2]);
    return Values{in[1]};
  });
  return fresh.result();
}

TEST(ElementWeights, ArePerTokenInTheLossAsInKeras) {
  for (const std::string& device : devices())
    for (const Shape& ids : {Shape{2, 3}, Shape{2, 3, 1}})
      for (const Shape& weights : {Shape{2, 3}, Shape{2, 3, 1}})
        EXPECT_NEAR(weighted(Loss("sparse_categorical_crossentropy"), kTokenIds.reshape(ids),
                             kTokens, kWeights.reshape(weights), device),
                    1.2387967, 1e-5)
            << device;
}

TEST(ElementWeights, ArePerPixelInTheLossAsInKeras) {
  for (const Shape& mask : {Shape{2, 3}, Shape{2, 3, 1}}) {
    Tensor y = kMask.reshape(mask);
    EXPECT_NEAR(weighted(Loss("binary_crossentropy"), y, kPixels, kWeights), 0.5776854, 1e-5);
    EXPECT_NEAR(weighted(Loss("mse"), y, kPixels, kWeights), 0.1966667, 1e-5);
    EXPECT_NEAR(weighted(Loss("mae"), y, kPixels, kWeights), 0.4166667, 1e-5);
    EXPECT_NEAR(weighted(Huber(0.5), y, kPixels, kWeights), 0.09625, 1e-5);
  }
}

TEST(ElementWeights, OfOneHotTargetsAreThoseOfTheirIds) {
  Tensor one_hot = floats({1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0}, {2, 3, 2});
  EXPECT_NEAR(weighted(Loss("categorical_crossentropy"), one_hot, kTokens, kWeights), 1.2387967,
              1e-5);
}

TEST(ElementWeights, OfWholeSamplesEqualThemSpreadOverTheirElements) {
  Tensor spread = floats({2, 2, 2, .5F, .5F, .5F}, {2, 3});
  double expected = 1.2559665;  // Keras, with weights of shape [2, 1]
  Loss loss("sparse_categorical_crossentropy");
  for (const Shape& shape : {Shape{2}, Shape{2, 1}, Shape{2, 1, 1}})
    EXPECT_NEAR(weighted(loss, kTokenIds, kTokens, floats({2, .5F}, shape)), expected, 1e-5);
  EXPECT_NEAR(weighted(loss, kTokenIds, kTokens, spread), expected, 1e-5);
}

TEST(ElementWeights, MayLeaveOutTheInnerAxes) {
  // Pictures of 2 x 2: one weight per line of pixels, or per column.
  Tensor p = floats({1, 2, 3, 4}, {1, 2, 2, 1}), y = Tensor::zeros({1, 2, 2, 1});
  EXPECT_NEAR(weighted(Loss("mse"), y, p, floats({1, 2}, {1, 2})), (1 + 4 + 2 * (9 + 16)) / 4.0,
              1e-5);
  EXPECT_NEAR(weighted(Loss("mse"), y, p, floats({1, 2}, {1, 1, 2})), (1 + 9 + 2 * (4 + 16)) / 4.0,
              1e-5);
}

TEST(ElementWeights, ReachTheMetricsAsInKeras) {
  Tensor flat = kPixels.reshape({2, 3});
  EXPECT_NEAR(weighted(Metric("accuracy"), kTokenIds, kTokens, kWeights), 0.6153846, 1e-6);
  EXPECT_NEAR(weighted(Metric("sparse_categorical_crossentropy"), kTokenIds, kTokens, kWeights),
              1.1435047, 1e-5);
  EXPECT_NEAR(weighted(Metric("binary_accuracy"), kMask, kPixels, kWeights), 0.6153846, 1e-6);
  EXPECT_NEAR(weighted(Metric("precision"), kMask.reshape({2, 3}), flat, kWeights), 0.6666667,
              1e-6);
  EXPECT_NEAR(weighted(Metric("mse"), kMask, kPixels, kWeights), 0.1815385, 1e-6);
}

TEST(ElementWeights, ThatDoNotFitAreRefused) {
  Loss tokens("sparse_categorical_crossentropy");
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{1, 3}, Shape{2, 2}, Shape{2, 3, 2},
                             Shape{2, 3, 1, 1}, Shape{3, 2}})
    EXPECT_THROW(weighted(tokens, kTokenIds, kTokens, Tensor::full(shape, 1)), ShapeError)
        << to_string(shape);
  std::string text = message_of<ShapeError>([&] {
    weighted(Loss("mse"), Tensor::zeros({2, 3}), Tensor::zeros({2, 3}), kWeights);
  });
  EXPECT_NE(text.find("one per sample, [2], got [2, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("last axis is averaged"), std::string::npos) << text;
  EXPECT_THROW(weighted(Metric("accuracy"), kTokenIds, kTokens, Tensor::full({3}, 1)), ShapeError);
}

TEST(ElementWeights, OfZeroTakeAnElementOutOfTheGradient) {
  std::vector<Tensor> found = run({kTokenIds, kTokens, kWeights}, [](Graph&, const Values& in) {
    Value loss = Loss("sparse_categorical_crossentropy")(in[0], ops::softmax(in[1]), in[2]);
    return Values{gradients(loss, Values{in[1]})[0]};
  });
  for (int64_t i : {2, 3, 6, 7}) EXPECT_EQ(found[0].at(i), 0);
  for (int64_t i : {0, 4, 8, 10}) EXPECT_NE(found[0].at(i), 0);
}

TEST(SparseAccuracy, TakesHalfAClassForAMiss) {
  Metric metric = "sparse_categorical_accuracy";
  run({floats({0, 0.5F}, {2}), floats({.9F, .1F, .9F, .1F}, {2, 2})},
      [&](Graph&, const Values& in) {
        metric.update(in[0], in[1]);
        return Values{in[1]};
      });
  EXPECT_DOUBLE_EQ(metric.result(), 0.5);
}

}  // namespace
}  // namespace stoker::test
