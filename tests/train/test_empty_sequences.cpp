// Sequences without a step: a batch of empty texts is data like any other.
#include "train/helpers.h"

namespace stoker {
namespace {

class EmptySequences : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(EmptySequences);

Model made_of(const std::function<Value(const Value&)>& body) {
  Value in = Input({-1, 3});
  return {in, body(in)};
}

TEST_P(EmptySequences, GoThroughLayersOverTime) {
  Tensor x = Tensor::zeros({2, 0, 3});
  EXPECT_EQ(made_of([](const Value& v) { return LSTM(4)(v); }).predict(x), Tensor::zeros({2, 4}));
  EXPECT_EQ(made_of([](const Value& v) { return GRU(4)(v); }).predict(x), Tensor::zeros({2, 4}));
  EXPECT_EQ(made_of([](const Value& v) { return Dense(5, {.activation = "relu"})(v); }).predict(x),
            Tensor::zeros({2, 0, 5}));
  EXPECT_EQ(made_of([](const Value& v) { return MultiHeadAttention(2, 2)(v, v); }).predict(x),
            Tensor::zeros({2, 0, 3}));
  EXPECT_EQ(made_of([](const Value& v) { return LayerNormalization()(v); }).predict(x),
            Tensor::zeros({2, 0, 3}));
}

TEST_P(EmptySequences, ReduceToWhatTheFunctionStartsWith) {
  Tensor x = Tensor::zeros({2, 0, 3});
  EXPECT_EQ(compute([&] { return ops::sum(x, {.axes = {1}}); }), Tensor::zeros({2, 3}));
  EXPECT_EQ(compute([&] { return ops::prod(x, {.axes = {1}}); }), Tensor::full({2, 3}, 1));
  EXPECT_EQ(compute([&] {
              return ops::matmul(x, Tensor::zeros({3, 4}));
            }),
            Tensor::zeros({2, 0, 4}));
}

TEST_P(EmptySequences, TrainWhatDoesNotDependOnThem) {
  Value in = Input({-1, 3});
  Model model(in, Dense(1)(LSTM(4)(in)));
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
  Tensor y = Tensor::full({2, 1}, 1.0);
  History history = model.fit(Tensor::zeros({2, 0, 3}), y, {.epochs = 50, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 1e-3);  // the bias
}

}  // namespace
}  // namespace stoker
