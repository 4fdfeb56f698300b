// Gradients of gradients in functions, on every device: that the engines' fusions keep them. The
// rules themselves are checked per op against finite differences in tests/engine.
#include "train/helpers.h"

namespace stoker {
namespace {

class SecondDerivatives : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(SecondDerivatives);

TEST_P(SecondDerivatives, OfACubeAndFurther) {
  auto f = function([](Value x) {
    Value y = ops::sum(x * x * x * x);
    Values found;
    for (int order = 1; order <= 4; ++order) {
      y = ops::sum(gradients(y, {x})[0]);
      found.push_back(y);
    }
    return found;
  });
  auto found = f(Tensor(2.0F));
  EXPECT_EQ(found[0].item(), 32);
  EXPECT_EQ(found[1].item(), 48);
  EXPECT_EQ(found[2].item(), 48);
  EXPECT_EQ(found[3].item(), 24);
}

TEST_P(SecondDerivatives, OfTanhAreAsInCalculus) {
  auto f = function([](Value x) {
    Value first = gradients(ops::sum(ops::tanh(x)), {x})[0];
    Value second = gradients(ops::sum(first), {x})[0];
    return Values{first, second, gradients(ops::sum(second), {x})[0]};
  });
  auto found = f(Tensor(0.5F));
  double t = std::tanh(0.5), s = 1 - t * t;
  EXPECT_NEAR(found[0].item(), s, 1e-6);
  EXPECT_NEAR(found[1].item(), -2 * t * s, 1e-6);
  EXPECT_NEAR(found[2].item(), -2 * s * (s - 2 * t * t), 1e-5);
}

TEST_P(SecondDerivatives, ByAConstantAreRight) {
  auto f = function([](Value x) {
    Value c = Tensor::from({2.0F, 3.0F}, {2});
    Value loss = ops::sum(c * c * x);
    Value first = gradients(loss, {c})[0];
    return Values{first, gradients(ops::sum(first), {c})[0]};
  });
  auto found = f(Tensor::from({5.0F, 7.0F}, {2}));
  EXPECT_EQ(found[0].tensor(), Tensor::from({20.0F, 42.0F}, {2}));
  EXPECT_EQ(found[1].tensor(), Tensor::from({10.0F, 14.0F}, {2}));
}

TEST_P(SecondDerivatives, ByAScalarTensorDoNotCountEqualNumbers) {
  auto f = function([](Value x) {
    Value c = Tensor(2.0F);
    return gradients(ops::sum(c * x * 2.0 + 2.0), {c})[0];
  });
  EXPECT_EQ(f(Tensor::from({1.0F, 4.0F}, {2})).item(), 10);
}

// The step of WGAN-GP: the loss holds the norm of the gradient by the input.
Values penalty_step(const Sequential& model, const Value& x) {
  Value score = ops::sum(model(x));
  Value slope = gradients(score, {x})[0];
  Value flat = ops::flatten(slope);
  Value norm = ops::sqrt(ops::sum(ops::square(flat), {.axes = {1}}) + 1e-6);
  Value loss = ops::mean(ops::square(norm - 1.0)) + score * 0.01;
  Values found = gradients(loss, model.trainable_variables(), {.unconnected = Unconnected::zeros});
  found.insert(found.begin(), loss);
  return found;
}

void expect_same_as_reference(const std::string& device, const std::function<Sequential()>& make,
                              const Shape& shape) {
  std::vector<std::vector<Tensor>> results;
  for (const std::string& where : {std::string("reference"), device}) {
    test::OnDevice on(where, 7);
    Sequential model = make();
    auto f = function([&](Value x) { return penalty_step(model, x); });
    results.emplace_back();
    for (const LazyTensor& result : f(test::normal(shape, 3)))
      results.back().push_back(result.tensor());
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    double scale = 0;
    for (int64_t at = 0; at < results[0][i].elements(); ++at)
      scale = std::max(scale, std::abs(results[0][i].at(at)));
    for (int64_t at = 0; at < results[0][i].elements(); ++at)
      EXPECT_NEAR(results[0][i].at(at), results[1][i].at(at), 2e-4 * scale + 1e-6)
          << device << ", result " << i << ", element " << at;
  }
}

Layer clone_of(const Layer& layer) { return deserialize<Layer>(serialize(layer)); }

TEST_P(SecondDerivatives, OfADenseNetworkAreTheReferences) {
  for (std::string activation : {"relu", "tanh", "gelu", "silu", "elu", "softplus", "sigmoid"})
    expect_same_as_reference(
        GetParam(),
        [&] {
          return Sequential({Input({6}), Dense(8, {.activation = activation}), LayerNormalization(),
                             Dense(5, {.activation = activation}), Dense(1)});
        },
        {4, 6});
}

TEST_P(SecondDerivatives, OfAConvolutionalNetworkAreTheReferences) {
  expect_same_as_reference(
      GetParam(),
      [] {
        return Sequential({Input({8, 8, 2}),
                           Conv2D(4, 3, {.padding = "same", .activation = "relu"}), MaxPooling2D(2),
                           BatchNormalization(), Activation("relu"),
                           Conv2D(6, 3, {.strides = 2, .activation = "tanh"}), AveragePooling2D(1),
                           Flatten(), Dense(3, {.activation = "softmax"}), Dense(1)});
      },
      {3, 8, 8, 2});
}

TEST_P(SecondDerivatives, OfRecurrentNetworksAreTheReferences) {
  auto network = [](const Layer& over_time) {
    return [over_time] {
      return Sequential(
          {Input({5, 3}), clone_of(over_time), Bidirectional(SimpleRNN(2)), Dense(1)});
    };
  };
  expect_same_as_reference(GetParam(), network(LSTM(4, {.return_sequences = true})), {2, 5, 3});
  expect_same_as_reference(GetParam(), network(GRU(4, {.return_sequences = true})), {2, 5, 3});
}

}  // namespace
}  // namespace stoker
