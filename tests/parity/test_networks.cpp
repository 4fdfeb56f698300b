// Four networks against PyTorch and Keras: every gradient of the first step, and the losses and
// weights of five steps under SGD and Adam.

#include <tuple>

#include <gtest/gtest.h>
#include <stoker/losses.h>
#include <stoker/model.h>
#include <stoker/optimizers.h>

#include "parity/comparison.h"
#include "parity/networks.h"
#include "parity/step.h"

namespace stoker {
namespace {

using namespace test;

constexpr int kSteps = 5;

class Networks : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    if (std::string why = untestable(device()); !why.empty()) GTEST_SKIP() << why;
  }
  const std::string& device() const { return std::get<0>(GetParam()); }
  const std::string& name() const { return std::get<1>(GetParam()); }
};

// The losses of five steps through the model's own training step, as a tensor.
Tensor train(const Network& network, const Optimizer& optimizer, Context& context) {
  network.model().compile(
      {.optimizer = optimizer, .loss = "sparse_categorical_crossentropy", .context = &context});
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    network.model().reset_metrics();
    Logs logs = network.model().train_on_batch(network.images(step), network.labels(step));
    losses.push_back(float(logs["loss"]));
  }
  return Tensor::from(losses, {kSteps});
}

TEST_P(Networks, HaveThePeersGradients) {
  Network network(name());
  std::vector<Tensor> outputs =
      run_once(device(), {network.images(0), network.labels(0)}, [&](const Values& inputs) {
        Value loss = SparseCategoricalCrossentropy()(inputs[1], network.model()(inputs[0]));
        Values found = {loss};
        for (const Value& gradient : gradients(loss, network.variables()))
          found.push_back(gradient);
        return found;
      });
  Expected losses = network.recording().expected("loss");
  EXPECT_TRUE(agrees(outputs[0], {"loss", losses.values[0], losses.noise[0]}));
  for (size_t i = 0; i < network.parameters().size(); ++i)
    EXPECT_TRUE(agrees(outputs[i + 1],
                       network.recording().expected("gradient/" + network.parameters()[i])));
}

TEST_P(Networks, TrainAsThePeerWithSGD) {
  Network network(name());
  Context context{.device = device(), .out = nullptr};
  SGD optimizer({.learning_rate = network.recording().number("learning_rate")});
  Tensor losses = train(network, optimizer, context);
  EXPECT_TRUE(agrees(losses, network.recording().expected("loss")));
  Recording trained(name() == "cnn" ? "cnn_trained" : name());
  for (size_t i = 0; i < network.parameters().size(); ++i)
    EXPECT_TRUE(agrees(network.variables()[i].read(),
                       trained.expected("trained/" + network.parameters()[i])));
}

TEST_P(Networks, TrainAsKerasWithAdam) {
  Network network(name());
  Recording adam("adam");
  Context context{.device = device(), .out = nullptr};
  Adam optimizer({.learning_rate = adam.number(name() + "/learning_rate")});
  EXPECT_TRUE(agrees(train(network, optimizer, context), adam.expected(name() + "/loss")));
  for (const Variable& moving : network.model().non_trainable_variables())
    EXPECT_TRUE(agrees(moving.read(), adam.expected(name() + "/" + moving.name())));
}

INSTANTIATE_TEST_SUITE_P(Parity, Networks,
                         testing::Combine(kDevices,
                                          testing::Values("cnn", "residual", "separable", "mlp")),
                         [](const auto& suite) {
                           return std::get<1>(suite.param) + "_" + std::get<0>(suite.param);
                         });

}  // namespace
}  // namespace stoker
