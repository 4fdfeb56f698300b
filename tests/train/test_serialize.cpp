// Everything that has options as text, and back.
#include <stoker/serialize.h>

#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

template <class T>
void expect_same_text(const T& value) {
  std::string text = serialize(value);
  EXPECT_EQ(serialize(deserialize<T>(text)), text);
}

TEST(Serialize, GivesTextFromWhichTheSameIsMade) {
  expect_same_text(Layer(Dense(3, {.activation = "relu",
                                   .kernel_initializer = HeNormal({.seed = 3}),
                                   .kernel_constraint = MaxNorm(2),
                                   .name = "hidden"})));
  expect_same_text(Layer(Conv3D(4, 3, {.kernel_constraint = "non_neg"})));
  expect_same_text(Loss(Huber(2)));
  expect_same_text(Metric(TopKCategoricalAccuracy(3)));
  expect_same_text(Optimizer(
      Adam({.learning_rate = CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 100}),
            .clipnorm = 1})));
  expect_same_text(Optimizer(MultiOptimizer(
      {.default_optimizer = SGD(), .optimizers = {{"a/.*", Adam({.beta_1 = 0.5})}}})));
  expect_same_text(PolynomialDecay({.initial_learning_rate = 0.1, .decay_steps = 10}));
  expect_same_text(Initializer(STFT({.side = "imag", .window = "hamming"})));
  expect_same_text(L1L2(0.1, 0.2));
  expect_same_text(OrthogonalRegularizer(0.5, "columns"));
  expect_same_text(MinMaxNorm({.min_value = 0.25}));
  expect_same_text(ActivationFunction("gelu"));
  EXPECT_EQ(deserialize<Layer>(serialize(Dense(3, {.name = "hidden"}))).name(), "hidden");
  EXPECT_EQ(deserialize<ActivationFunction>(serialize(ActivationFunction("relu"))).name(), "relu");
}

TEST(Serialize, TakesOwnCodeFromCustomObjects) {
  Loss own("mine", [](const Value& y, const Value& p) { return ops::square(y - p); });
  std::string text = serialize(own);
  EXPECT_THROW(deserialize<Loss>(text), ValueError);
  EXPECT_TRUE(deserialize<Loss>(text, {.losses = {{"mine", own}}}).custom());
  EXPECT_THROW(serialize(Initializer([](const Shape& s) { return Tensor::zeros(s); })), ValueError);
}

TEST(Serialize, GivesTheArchitectureOfAModelWithoutItsWeights) {
  Value in = Input({4}, {.name = "x"});
  Layer shared = Dense(4, {.activation = "relu", .name = "shared"});
  Model inner(in, shared(shared(in)), {.name = "inner"});
  Value x = Input({4});
  Model model(x, Dense(2)(inner(x) + x));
  std::string text = serialize(model);
  Model same = deserialize<Model>(text);
  EXPECT_EQ(serialize(same), text);
  EXPECT_EQ(same.count_params(), model.count_params());
  Tensor data = test::normal({3, 4}, 1);
  EXPECT_NE(same.predict(data), model.predict(data)) << "weights of its own";
  same.set_weights(model.get_weights());
  EXPECT_EQ(same.predict(data), model.predict(data));
  EXPECT_FALSE(same.compiled());
}

TEST(Serialize, RefusesModelsThatTextCannotHold) {
  Value x = Input({2});
  Model model(x, x + Value(test::normal({2}, 1)));
  EXPECT_TRUE(says(error_of<ValueError>([&] { serialize(model); }), {"float32[2]", "save"}));
  EXPECT_THROW(serialize(Layer(Sequential({Input({2}), Dense(1)}))), ValueError);
  EXPECT_THROW(serialize(Model()), Error);
  for (const char* text : {"", "{", "[]", "{}", R"({"kind": "Dense", "config": {"units": 3}})"})
    EXPECT_THROW(deserialize<Model>(text), Error) << text;
}

TEST(Serialize, RefusesWhatIsNoDescription) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"kind": 3, "config": {}})", R"({"kind": "Dense"})",
        R"({"kind": "Dense", "config": {"unit": 3}})", R"({"kind": "Dens", "config": {}})"})
    EXPECT_THROW(deserialize<Layer>(text), ValueError) << text;
  EXPECT_THROW(deserialize<Constraint>(serialize(L2(0.5))), ValueError);
}

}  // namespace
}  // namespace stoker
