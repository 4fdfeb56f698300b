// Models that run with other values in place of their weights.
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

class WithValues : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(WithValues);

// One weight w, inputs x, targets y: after a step of size a on the mean of (w x - y)², the loss of
// the new weight, differentiated by the old one.
TEST_P(WithValues, GradientsFlowThroughAnInnerStep) {
  Sequential model(
      {Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = Constant(0.5)})});
  std::vector<Variable> weights = model.trainable_variables();
  auto meta = function([&](Value x, Value y) {
    Value slope = gradients(mean_squared_error(y, model(x)), weights)[0];
    Values fast = {Value(weights[0]) - slope * 0.1};
    Value loss = with_values(weights, fast, [&] { return mean_squared_error(y, model(x)); });
    return Values{loss, gradients(loss, weights)[0], mean_squared_error(y, model(x))};
  });
  auto results = meta(Tensor::from({1.F, 2.F}, {2, 1}), Tensor::from({2.F, 3.F}, {2, 1}));
  // Means: x² = 2.5, x y = 4, y² = 6.5.
  auto loss = [](double w) { return 2.5 * w * w - 8 * w + 6.5; };
  auto slope = [](double w) { return 5 * w - 8; };
  double fast = 0.5 - 0.1 * slope(0.5);
  EXPECT_NEAR(results[0].item(), loss(fast), 1e-5);
  EXPECT_NEAR(results[1].item(), slope(fast) * (1 - 0.1 * 5), 1e-5);  // d fast / d w = 1 - 0.1 · 5
  EXPECT_NEAR(results[2].item(), loss(0.5), 1e-5);                    // afterwards, as before
}

TEST_P(WithValues, ReachRecurrentNestedAndSharedLayers) {
  set_seed(3);
  Sequential inner({Input({-1, 3}), LSTM(4, {.return_sequences = true}), RNN(SimpleRNNCell(3))});
  Value in = Input({5, 3});
  Dense shared(3);
  Model model(in, shared(inner(shared(in))));
  Tensor x = test::normal({2, 5, 3}, 1);
  std::vector<Variable> weights = model.trainable_variables();
  std::vector<Tensor> others;
  for (const Variable& weight : weights) others.push_back(weight.read() * 0.5);
  Tensor before = model.predict(x);
  auto halved = function([&](Value input) {
    Values half;
    for (const Variable& weight : weights) half.push_back(Value(weight) * 0.5);
    return with_values(weights, half, [&] { return model(input); });
  });
  Tensor result = halved(x).tensor();
  EXPECT_EQ(model.predict(x), before);
  for (size_t i = 0; i < weights.size(); ++i) weights[i].write(others[i]);
  test::expect_near(result, model.predict(x), 1e-5);
}

TEST(SubstitutedVariables, AreTheOldOnesInValuesTakenBefore) {
  test::OnDevice device;
  Variable w("w", Tensor::full({2}, 1.0)), other("other", Tensor::full({2}, 10.0));
  auto step = function([&](Value x) {
    Value before = w;
    Values inside = with_values({w}, {Value(w) + x}, [&] {
      other.assign_add(1.0);
      Value nested = with_values({w}, {Value(w) * 2.0}, [&] { return Value(w) + 0.0; });
      return Values{Value(w) + 0.0, before + 0.0, nested, Value(other) + 0.0};
    });
    inside.push_back(Value(w) + 0.0);
    return inside;
  });
  auto results = step(Tensor::full({2}, 3.0));
  const std::vector<double> expected = {4, 1, 8, 11, 1};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(results[i].tensor().at(1), expected[i]) << i;
}

TEST(SubstitutedVariables, ThatDoNotFitSayWhy) {
  Variable w("w", Tensor::full({2}, 1.0));
  auto traced = [&](const std::vector<Variable>& variables, const Values& values, bool assigns) {
    auto step = function([&](Value x) {
      return with_values(variables, values, [&] {
        if (assigns) w.assign(x);
        return x + Value(w);
      });
    });
    return error_of<Error>([&] { step(Tensor::zeros({2})); });
  };
  EXPECT_TRUE(says(traced({w}, {}, false), {"1 variables and 0 values"}));
  EXPECT_TRUE(says(traced({w}, {Tensor::zeros({3})}, false), {"\"w\"", "[2]", "[3]"}));
  EXPECT_TRUE(says(traced({w}, {Value()}, false), {"\"w\"", "undefined"}));
  EXPECT_TRUE(says(traced({w}, {Tensor::zeros({2})}, true), {"\"w\"", "assigned", "with_values"}));
  EXPECT_TRUE(says(
      error_of<Error>([&] { with_values({w}, {Tensor::zeros({2})}, [&] { return Value(w); }); }),
      {"with_values", "function()"}));
}

}  // namespace
}  // namespace stoker
