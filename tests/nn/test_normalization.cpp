// BatchNormalization, LayerNormalization, WeightNormalization.
#include <cmath>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

struct Moments {
  double mean = 0, variance = 0;
};
// Over all but the last axis; variance without Bessel's correction.
Moments column_moments(const Tensor& x, int64_t column) {
  int64_t columns = x.shape()[-1], rows = x.elements() / columns;
  Moments moments;
  for (int64_t row = 0; row < rows; ++row)
    moments.mean += x.at(row * columns + column) / double(rows);
  for (int64_t row = 0; row < rows; ++row) {
    double distance = x.at(row * columns + column) - moments.mean;
    moments.variance += distance * distance / double(rows);
  }
  return moments;
}

TEST(BatchNormalization, TrainsOnTheBatchAndMovesItsStatistics) {
  for (const std::string& device : devices()) {
    Layer bn = BatchNormalization({.momentum = 0.9});
    Tensor x = random_tensor({4, 3, 3, 2});
    Tensor y = run_layer(bn, x, {.training = true, .device = device});
    std::vector<Tensor> weights = bn.get_weights();
    for (int64_t channel = 0; channel < 2; ++channel) {
      Moments of_x = column_moments(x, channel), of_y = column_moments(y, channel);
      EXPECT_NEAR(of_y.mean, 0, 1e-5) << device;
      EXPECT_NEAR(of_y.variance, of_x.variance / (of_x.variance + 1e-3), 1e-4) << device;
      EXPECT_NEAR(weights[2].at(channel), 0.1 * of_x.mean, 1e-6) << device;
      EXPECT_NEAR(weights[3].at(channel), 0.9 + 0.1 * of_x.variance, 1e-6) << device;
    }
  }
}

TEST(BatchNormalization, UsesItsMovingStatisticsInInferenceAndWhenFrozen) {
  for (bool training : {false, true}) {
    Layer bn = BatchNormalization({.epsilon = 0.25});
    if (training) bn.set_trainable(false);
    bn(Input({2}));
    std::vector<Tensor> weights = {floats({1, 2}, {2}), floats({0, 1}, {2}), floats({1, 2}, {2}),
                                   floats({3.75F, 0.75F}, {2})};
    bn.set_weights(weights);
    EXPECT_TRUE(near(run_layer(bn, floats({5, 3}, {1, 2}), {.training = training}), {2, 3}));
    EXPECT_EQ(bn.get_weights(), weights);
  }
}

TEST(BatchNormalization, WithoutCenterAndScaleHasNoGammaAndBeta) {
  Layer plain = BatchNormalization({.center = false, .scale = false});
  Layer full = BatchNormalization();
  Tensor x = random_tensor({8, 3});
  EXPECT_TRUE(
      near(run_layer(plain, x, {.training = true}), run_layer(full, x, {.training = true})));
  EXPECT_EQ(plain.weights().size(), 2U);
}

TEST(BatchNormalization, OfAnotherAxisIsThatOfTheLastOneTransposed) {
  Layer channels_first = BatchNormalization({.axis = 1}), channels_last = BatchNormalization();
  Tensor x = random_tensor({3, 2, 4, 5});
  Tensor found = run_layer(channels_first, x, {.training = true});
  Layer to_last = Permute({2, 3, 1}), back = Permute({3, 1, 2});
  Tensor expected =
      run_layer(back, run_layer(channels_last, run_layer(to_last, x), {.training = true}));
  EXPECT_TRUE(near(found, expected));
  EXPECT_TRUE(near(channels_first.get_weights()[2], channels_last.get_weights()[2]));
}

TEST(BatchNormalization, UsedTwiceMovesItsStatisticsTwice) {
  Layer bn = BatchNormalization({.momentum = 0.5});
  run({floats({2, 4}, {2, 1}), floats({10, 30}, {2, 1})},
      [&](Graph&, const Values& x) {
        return Values{bn(x[0]), bn(x[1])};
      },
      {.training = true});
  EXPECT_TRUE(near(bn.get_weights()[2], {(0 * 0.5 + 3 * 0.5) * 0.5 + 20 * 0.5}));
  EXPECT_TRUE(near(bn.get_weights()[3], {(1 * 0.5 + 1 * 0.5) * 0.5 + 100 * 0.5}));
}

TEST(LayerNormalization, NormalisesEverySample) {
  for (const std::string& device : devices()) {
    Layer norm = LayerNormalization();
    norm(Input({4}));
    norm.set_weights({floats({1, 1, 2, 2}, {4}), floats({0, 1, 0, 1}, {4})});
    double scale = 1 / std::sqrt(5 + 1e-3);
    EXPECT_TRUE(near(run_layer(norm, floats({1, 3, 5, 7}, {1, 4}), {.device = device}),
                     {-3 * scale, -1 * scale + 1, 2 * scale, 6 * scale + 1}))
        << device;
  }
}

TEST(LayerNormalization, OfAnAxisInTheMiddleIsThatOfTheLastOneTransposed) {
  Tensor x = random_tensor({2, 3, 4});
  Tensor found = run_layer(LayerNormalization({.axis = 1}), x);
  Tensor expected =
      run_layer(Permute({2, 1}), run_layer(LayerNormalization(), run_layer(Permute({2, 1}), x)));
  EXPECT_TRUE(near(found, expected));
}

TEST(WeightNormalization, ChangesNothingAtFirst) {
  for (const std::string& device : devices()) {
    Tensor x = random_tensor({2, 6, 6, 3});
    Layer plain = Conv2D(4, 3), conv = Conv2D(4, 3);
    Layer wrapped = WeightNormalization(conv);
    plain(Input({6, 6, 3}));
    conv(Input({6, 6, 3}));
    conv.set_weights(plain.get_weights());
    EXPECT_TRUE(
        near(run_layer(wrapped, x, {.device = device}), run_layer(plain, x, {.device = device})))
        << device;
  }
}

TEST(WeightNormalization, HasLengthAndDirectionApart) {
  for (const std::string& device : devices()) {
    Layer wrapped = WeightNormalization(Dense(2, {.use_bias = false}));
    wrapped(Input({2}));
    wrapped.set_weights({floats({3, 0, 4, 2}, {2, 2}), floats({10, 7}, {2})});
    EXPECT_TRUE(near(run_layer(wrapped, floats({1, 1}, {1, 2}), {.device = device}), {14, 7}))
        << device;
    Tensor gradient = run(
        {floats({1, 1}, {1, 2})},
        [&](Graph&, const Values& x) {
          return Values{gradients(ops::sum(wrapped(x[0])), wrapped.base().trainable_weights())[1]};
        },
        {.device = device})[0];
    EXPECT_TRUE(near(gradient, {1.4, 1})) << device;
  }
}

TEST(WeightNormalization, NamesAndFreezesWhatItWraps) {
  Layer wrapped = WeightNormalization(Dense(2, {.name = "head"}));
  wrapped(Input({3}));
  EXPECT_EQ(wrapped.name(), "head");
  std::vector<std::string> names;
  for (const Variable& weight : wrapped.weights()) names.push_back(weight.name());
  EXPECT_EQ(names, std::vector<std::string>({"head/kernel", "head/bias", "head/g"}));
  wrapped.set_trainable(false);
  EXPECT_TRUE(wrapped.base().trainable_weights().empty());
}

TEST(WeightNormalization, KeepsTheRegulariserOfWhatItWraps) {
  Layer wrapped = WeightNormalization(Dense(2, {.kernel_regularizer = "l2"}));
  Graph graph;
  Value x = graph.input("x", {DType::float32, {2, 4}});
  wrapped(x);
  wrapped(x);
  EXPECT_EQ(graph.penalties().size(), 1U);
}

}  // namespace
}  // namespace stoker::test
