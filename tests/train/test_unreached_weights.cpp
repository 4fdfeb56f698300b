// Weights that a loss does not reach: part of a model may be left out, all of it may not.
#include "train/helpers.h"

namespace stoker {
namespace {

class UnreachedWeights : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(UnreachedWeights);

TEST_P(UnreachedWeights, OfAWholeModelAreAnErrorOfFit) {
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = Loss("cut", [](const Value& t, const Value& p) {
                                       return ops::square(t - ops::stop_gradient(p));
                                     })});
  test::Data data = test::line(8, 1);
  EXPECT_TRUE(test::says(
      test::error_of<Error>([&] { model.fit(data.x, data.y, {.epochs = 1, .verbose = 0}); }),
      {"none of the 2 trainable weights", "stop_gradient"}));
}

TEST_P(UnreachedWeights, OfOneHeadStayAsTheyAre) {
  Value x = Input({2});
  Dense seen(1), unseen(1);
  Model model({x}, {seen(x), unseen(x)});
  Loss ignored("ignored", [](const Value& t, const Value&) { return ops::square(t); });
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = {"mse", ignored}});
  std::vector<Tensor> before = unseen.get_weights(), learning = seen.get_weights();
  test::Data data = test::line(16, 1);
  model.fit(data.x, {data.y, data.y}, {.epochs = 1, .verbose = 0});
  EXPECT_EQ(unseen.get_weights()[0], before[0]);
  EXPECT_FALSE(seen.get_weights()[0] == learning[0]);
}

TEST_P(UnreachedWeights, OfALossThatNoLayerHasAreNamed) {
  Variable scale("scale", Tensor(1.0F));
  auto scaled = [&] {
    return Loss("scaled", [scale](const Value& t, const Value& p) {
      return ops::square(t - p) * ops::exp(-Value(scale)) + Value(scale);
    });
  };
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = scaled()});
  test::Data data = test::line(8, 1);
  EXPECT_TRUE(test::says(
      test::error_of<Error>([&] { model.fit(data.x, data.y, {.epochs = 1, .verbose = 0}); }),
      {"the loss reads variable \"scale\"", "add_loss", "train_step", "{.trainable = false}"}));
  EXPECT_GT(model.evaluate(data.x, data.y)["loss"], 0);
  scale.set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = scaled()});
  model.fit(data.x, data.y, {.epochs = 1, .verbose = 0});

  // Another network in the loss stays as it is, whether it is frozen or not.
  Sequential judge({Input({1}), Dense(2)});
  Sequential learner({Input({2}), Dense(1)});
  learner.compile({.optimizer = "sgd", .loss = Loss("judged", [&](const Value& t, const Value& p) {
                                         return ops::square(judge(t) - judge(p));
                                       })});
  std::vector<Tensor> before = judge.get_weights();
  learner.fit(data.x, data.y.reshape({8, 1}), {.epochs = 1, .verbose = 0});
  EXPECT_EQ(judge.get_weights()[0], before[0]);
}

TEST_P(UnreachedWeights, AreNamedInAnOwnLoop) {
  Variable used("used", Tensor(1.0F)), forgotten("forgotten", Tensor(1.0F));
  SGD sgd;
  auto step = function([&](Value x) {
    std::vector<Variable> weights = {used, forgotten};
    sgd.apply(gradients(Value(used) * x, weights), weights);
  });
  EXPECT_TRUE(test::says(test::error_of<Error>([&] { step(Tensor(1.0F)); }),
                         {"variable \"forgotten\"", "Unconnected::zeros"}));
}

}  // namespace
}  // namespace stoker
