#include "train/helpers.h"

namespace stoker {
namespace {

class FunctionTest : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(FunctionTest);

TEST_P(FunctionTest, ComputesWhatItsBodySays) {
  auto f = function([](Value a, Value b) { return a * b + 1.0; });
  EXPECT_EQ(f(Tensor(3.0F), Tensor(4.0F)).item(), 13);
  EXPECT_EQ(f(Tensor::from({1.0F, 2.0F}, {2}), Tensor(10.0F)).tensor(),
            Tensor::from({11.0F, 21.0F}, {2}));
  EXPECT_EQ(f.traces(), 2U);
  EXPECT_EQ(f(Tensor(1.0F), Tensor(1.0F)), 2.0);
  EXPECT_EQ(f.traces(), 2U);
}

TEST_P(FunctionTest, ReturnsSeveralValuesOrNone) {
  auto several = function([](const Value& x) { return Values{x + 1.0, ops::sum(x)}; });
  std::vector<LazyTensor> results = several(Tensor::from({1.0F, 2.0F}, {2}));
  EXPECT_EQ(results[0].tensor(), Tensor::from({2.0F, 3.0F}, {2}));
  EXPECT_EQ(results[1].item(), 3);
  Variable sum("sum", Tensor(0.0F));
  auto none = function([&](Value x) { SGD({.learning_rate = 1}).apply({-x}, {sum}); });
  none(Tensor(2.0F));
  EXPECT_EQ(sum.read().item(), 2);
}

TEST_P(FunctionTest, MayReturnWhatItWasGiven) {
  auto f = function([](Value x) { return Values{x, Value(Tensor(7.0F)), Value(2.0)}; });
  std::vector<LazyTensor> results = f(Tensor(5.0F));
  EXPECT_EQ(results[0].item(), 5);
  EXPECT_EQ(results[1].item(), 7);
  EXPECT_EQ(results[2].item(), 2);
}

TEST_P(FunctionTest, EntriesAndComparisonsOfValues) {
  auto f = function([](Value x) {
    Value sum = 0.0;
    for (int64_t row = 0; row < 2; ++row) sum += x[row] * double(row + 1);
    return Values{sum, ops::cast(x[-1] > x[0], DType::float32), ops::transpose(x)};
  });
  std::vector<LazyTensor> results = f(Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(results[0].tensor(), Tensor::from<float>({7, 10}, {2}));
  EXPECT_EQ(results[1].tensor(), Tensor::from<float>({1, 1}, {2}));
  EXPECT_EQ(results[2].tensor(), Tensor::from<float>({1, 3, 2, 4}, {2, 2}));
}

TEST_P(FunctionTest, GradientsFlowThroughEntries) {
  auto slopes = function([](Value x) { return gradients(ops::sum(x[1] * x[0]), {x})[0]; });
  EXPECT_EQ(slopes(Tensor::from<float>({1, 2, 3, 4}, {2, 2})).tensor(),
            Tensor::from<float>({3, 4, 1, 2}, {2, 2}));
}

TEST_P(FunctionTest, OpsRunAtOnceInsideCompute) {
  Tensor x = Tensor::from<float>({3, 4, 6, 8}, {2, 2});
  EXPECT_EQ(compute([&] { return ops::norm(x, {.axes = {1}}); }),
            Tensor::from<float>({5, 10}, {2}));
  Variable w("w", Tensor(2.0F));
  EXPECT_EQ(compute([&] { return w * x; }).at(3), 16);
  EXPECT_EQ(compute([&] { return Dropout(0.5)(x); }), x);  // inference
  EXPECT_EQ(compute([&] { return 1.5; }).item(), 1.5);
}

TEST_P(FunctionTest, ResultsOutliveLaterCallsAndTheFunction) {
  std::vector<LazyTensor> kept;
  {
    auto twice = function([](Value x) { return x * 2.0; });
    for (float value : {1.0F, 2.0F, 3.0F}) kept.push_back(twice(Tensor(value)));
  }
  EXPECT_EQ(kept[0].item(), 2);
  EXPECT_EQ(kept[1].item(), 4);
  EXPECT_EQ(kept[2].item(), 6);
}

TEST_P(FunctionTest, TrainsAModelInAnOwnLoop) {
  Sequential model({Input({2}), Dense(1)});
  SGD optimizer({.learning_rate = 0.1});
  auto train_step = function([&](Value x, Value y) {
    Value loss = mean_squared_error(y, model(x));
    optimizer.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });
  test::Data data = test::line(64, 3);
  double first = train_step(data.x, data.y), last = 0;
  for (int i = 0; i < 100; ++i) last = train_step(data.x, data.y);
  EXPECT_LT(last, 1e-3 * first);
  std::vector<Tensor> weights = model.get_weights();
  EXPECT_NEAR(weights[0].at(0), 2, 0.05);
  EXPECT_NEAR(weights[0].at(1), -1, 0.05);
  EXPECT_NEAR(weights[1].at(0), 0.5, 0.05);
}

TEST_P(FunctionTest, TrainingIsAnOption) {
  Dropout dropout(0.5);
  auto dropped = function([&](Value x) { return dropout(x); });
  auto passed = function([&](Value x) { return dropout(x); }, {.training = false});
  Tensor ones = Tensor::full({1000}, 1.0);
  EXPECT_EQ(passed(ones).tensor(), ones);
  Tensor first = dropped(ones).tensor(), second = dropped(ones).tensor();
  EXPECT_FALSE(first == ones);
  EXPECT_FALSE(first == second);  // another step, another mask
}

TEST_P(FunctionTest, AnUndefinedArgumentIsNamed) {
  auto f = function([](Value a, Value b) { return a + b; }, {.name = "adder"});
  EXPECT_TRUE(test::says(test::error_of<ValueError>([&] { f(Tensor(1.0F), Tensor()); }),
                         {"adder", "argument 1"}));
}

TEST_P(FunctionTest, Keeps32ProgramsAtMost) {
  auto f = function([](Value x) { return ops::sum(x); });
  for (int64_t size = 1; size <= 33; ++size)
    EXPECT_EQ(f(Tensor::full({size}, 1.0)).item(), double(size));
  EXPECT_EQ(f.traces(), 33U);
  f(Tensor::full({2}, 1.0));  // still there
  EXPECT_EQ(f.traces(), 33U);
  f(Tensor::full({1}, 1.0));  // the least recently used has gone
  EXPECT_EQ(f.traces(), 34U);
}

TEST_P(FunctionTest, FunctionsAndComputationsDrawNumbersOfTheirOwn) {
  auto draw = [] { return ops::random::normal({8}); };
  auto drawing = [&] { return function([&](Value x) { return draw() + 0.0 * x; }); };
  auto all = [&] {
    set_seed(7);
    auto one = drawing(), other = drawing();
    Tensor zero(0.0F);
    return std::vector<Tensor>{compute(draw), compute(draw), one(zero).tensor(), one(zero).tensor(),
                               other(zero).tensor()};
  };
  std::vector<Tensor> drawn = all();
  for (size_t i = 0; i < drawn.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(drawn[i] == drawn[k]) << i << ", " << k;
  EXPECT_EQ(all(), drawn);  // the same seed, the same numbers
}

}  // namespace
}  // namespace stoker
