// MultiOptimizer: each weight moves as under its own optimiser; files keep all of it.
#include <fmt/format.h>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

class MultiOptimizers : public DeviceTest {};
INSTANTIATE_ON_DEVICES(MultiOptimizers);

Sequential two_layers() {
  set_seed(5);
  return Sequential(
      {Input({4}), Dense(6, {.activation = "tanh", .name = "first"}), Dense(1, {.name = "last"})});
}

std::vector<Tensor> weights_after(const Optimizer& optimizer, const std::string& frozen = "",
                                  int64_t epochs = 2) {
  Sequential model = two_layers();
  for (const Layer& layer : model.layers())
    if (layer.name() == frozen) layer.set_trainable(false);
  model.compile({.optimizer = optimizer, .loss = "mse"});
  model.fit(normal({24, 4}, 1), normal({24, 1}, 2),
            {.epochs = epochs, .batch_size = 8, .verbose = 0});
  return model.get_weights();
}

OptimizerMap two_optimizers() {
  return {.default_optimizer = SGD({.learning_rate = 0.1, .weight_decay = 0.01}),
          .optimizers = {{"last/.*", Adam({.learning_rate = 0.02, .clipnorm = 0.5})}}};
}

void expect_all_near(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.elements(); ++i) EXPECT_NEAR(a.at(i), b.at(i), 2e-6);
}

// One step: from the same weights, each optimiser moves its own as it would all.
TEST_P(MultiOptimizers, MoveEveryWeightByItsOwn) {
  auto once = [](const Optimizer& optimizer) {
    Sequential model = two_layers();
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.fit(normal({8, 4}, 1), normal({8, 1}, 2), {.epochs = 1, .batch_size = 8, .verbose = 0});
    return model.get_weights();
  };
  OptimizerMap map = two_optimizers();
  std::vector<Tensor> all = once(MultiOptimizer(map)), first = once(map.default_optimizer),
                      last = once(map.optimizers[0].second);
  for (size_t i = 0; i < 2; ++i) expect_all_near(all[i], first[i]);
  for (size_t i = 2; i < 4; ++i) expect_all_near(all[i], last[i]);
}

TEST_P(MultiOptimizers, KeepTheStateOfEachOverSteps) {
  std::vector<Tensor> all = weights_after(MultiOptimizer({.default_optimizer = Adam(),
                                                          .optimizers = {{"last/.*", Lion()}}}),
                                          "first"),
                      alone = weights_after(Lion(), "first");
  for (size_t i = 0; i < 4; ++i) expect_all_near(all[i], alone[i]);
}

TEST_P(MultiOptimizers, MultiplyAllRatesByTheirOwn) {
  OptimizerMap plain{.default_optimizer = SGD({.learning_rate = 0.1})};
  std::vector<Tensor> half = weights_after(MultiOptimizer(plain, {.learning_rate = 0.5})),
                      alone = weights_after(SGD({.learning_rate = 0.05}));
  for (size_t i = 0; i < 4; ++i) expect_all_near(half[i], alone[i]);
}

TEST_P(MultiOptimizers, ComeBackFromAFileAndGoOn) {
  TempDir folder;
  LearningRate falls =
      ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 2, .decay_rate = 0.5});
  OptimizerMap map{.default_optimizer = SGD({.learning_rate = falls, .momentum = 0.5}),
                   .optimizers = {{"last/kernel", Adam()}}};
  auto fit = [](const Model& model) {
    model.fit(normal({24, 4}, 1), normal({24, 1}, 2),
              {.epochs = 2, .batch_size = 8, .shuffle = false, .verbose = 0});
  };
  Sequential model = two_layers();
  model.compile({.optimizer = MultiOptimizer(map, {.clipvalue = 0.5}), .loss = "mse"});
  fit(model);
  model.save((folder.path() / "model.stoker").string());
  Model again = load_model((folder.path() / "model.stoker").string());
  fit(model);
  fit(again);
  std::vector<Tensor> a = model.get_weights(), b = again.get_weights();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>());
}

TEST(MultiOptimizer, SaysWhatCannotBeInsideOfIt) {
  auto text = [](const OptimizerMap& map) {
    try {
      MultiOptimizer made(map);
    } catch (const ValueError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(text({.default_optimizer = Adam({.use_ema = true})}),
            "MultiOptimizer: use_ema of Adam has no effect inside of it; set it on the "
            "MultiOptimizer");
  EXPECT_NE(text({.default_optimizer = Adam(), .optimizers = {{"(", SGD()}}})
                .find("no regular expression"),
            std::string::npos);
  EXPECT_NE(text({}).find("undefined"), std::string::npos);
  EXPECT_NE(text({.default_optimizer = MultiOptimizer({.default_optimizer = SGD()})})
                .find("inside another"),
            std::string::npos);
  MultiOptimizer made(
      {.default_optimizer = SGD(), .optimizers = {{".*kernel", Adam()}, {"first/.*", Lion()}}});
  EXPECT_EQ(made.at("last/kernel").kind(), "Adam");
  EXPECT_EQ(made.at("last/bias").kind(), "SGD");
  EXPECT_THROW(made.at("first/kernel"), ValueError);
}

}  // namespace
}  // namespace stoker
