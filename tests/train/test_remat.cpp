// Rematerialisation: the same bits from less memory.
#include <stoker/remat.h>

#include "graph/graph.h"
#include "graph/remat.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

Sequential deep_model(const RematScopeOptions& options) {
  set_seed(3);
  RematScope scope(options);
  Sequential model({Input({32})});
  for (int i = 0; i < 4; ++i) {
    Sequential block({Dense(256, {.activation = "gelu"}), Dropout(0.3),
                      Dense(256, {.activation = "tanh"}), LayerNormalization(), Dense(32)});
    model.add(options.mode == "full" ? remat(block) : Layer(block));
  }
  model.add(Dense(1));
  model.compile({.optimizer = Adam(), .loss = "mse"});
  return model;
}

std::vector<Tensor> trained(const Sequential& model) {
  Tensor x = normal({64, 32}, 1), y = normal({64, 1}, 2);
  model.fit(x, y, {.epochs = 2, .batch_size = 32, .shuffle = false, .verbose = 0});
  return model.get_weights();
}

class Remat : public testing::TestWithParam<std::string> {
 protected:
  OnDevice device_{GetParam()};
};

TEST_P(Remat, GivesTheSameBitsFromLessMemory) {
  Sequential plain = deep_model({.mode = ""}), spare = deep_model({});
  size_t before = plain.memory_plan(512)->total, after = spare.memory_plan(512)->total;
  RecordProperty("bytes_plain", std::to_string(before));  // for --gtest_output=json:FILE
  RecordProperty("bytes_remat", std::to_string(after));
  EXPECT_LT(after, before * 3 / 4) << "of " << before << " bytes " << after << " are left";
  EXPECT_EQ(trained(spare), trained(plain));
}

TEST_P(Remat, OfActivationsAndOfLargeLayersKeepsTheBitsToo) {
  std::vector<Tensor> expected = trained(deep_model({.mode = ""}));
  EXPECT_EQ(trained(deep_model({.mode = "activations"})), expected);
  EXPECT_EQ(trained(deep_model({.mode = "larger_than", .output_size_threshold = 100})), expected);
}

TEST_P(Remat, RunsAFunctionAgain) {
  auto train = [&](bool again) {
    set_seed(1);
    Dense wide(64, {.activation = "gelu"}), narrow(8);
    std::function<Value(const Value&)> inside = [=](const Value& x) { return narrow(wide(x)); };
    Value input = Input({8});
    Model model(input, Dense(1)(again ? remat(inside)(input) : Lambda(inside)(input)));
    model.compile({.optimizer = SGD(), .loss = "mse"});
    model.fit(normal({16, 8}, 1), normal({16, 1}, 2), {.epochs = 3, .verbose = 0});
    return model.get_weights();
  };
  EXPECT_EQ(train(true), train(false));
}

INSTANTIATE_TEST_SUITE_P(Devices, Remat, testing::Values("cpu", "reference"),
                         [](const auto& device) { return device.param; });

// Nodes of a traced gradient that compute again.
int copies_in(const std::function<Value(const Value&)>& function) {
  Graph graph;
  Graph::Scope scope(graph, "test");
  Value x = graph.input("x", {DType::float32, {2, 4}});
  Value loss = ops::sum(function(x));
  graph.output(gradients(loss, {x})[0], "gradient");
  graph.output(loss, "loss");
  graph.remove_dead_nodes();  // rules are given more than they read
  int copies = 0;
  for (const Node& node : graph.nodes()) copies += node.attrs.has(kRecomputed) ? 1 : 0;
  return copies;
}

TEST(RematRegion, ComputesOnlyWhatTheGradientReads) {
  auto inside = [](const Value& x) { return ops::exp(ops::sin(ops::square(x))) * 2.0; };
  EXPECT_EQ(copies_in(inside), 0);
  // exp by its result, sin and square by their operands; the product by neither, and x is kept.
  EXPECT_EQ(copies_in(remat(inside)), 3);
  auto twice = remat([=](const Value& x) { return remat(inside)(x) + x; });
  EXPECT_EQ(copies_in(twice), 3) << "one region";
}

TEST(RematRegion, KeepsWhatOthersRead) {
  auto ends_in_exp = remat([](const Value& x) { return ops::exp(ops::sin(x)); });
  // The result of exp leaves the region.
  EXPECT_EQ(copies_in(ends_in_exp), 0);
}

TEST(RematScope, IsOfTheLayersThatAreConstructedInIt) {
  Dense outside(1);
  std::optional<Dense> inner, middle;
  {
    RematScope scope({.mode = "list_of_layers", .layer_names = {"a"}});
    middle.emplace(1);
    RematScope other({.mode = "activations"});
    inner.emplace(1);
  }
  Dense after(1);
  EXPECT_EQ(outside.base().remat(), nullptr);
  EXPECT_EQ(after.base().remat(), nullptr);
  EXPECT_EQ(middle->base().remat()->layer_names, std::vector<std::string>{"a"});
  EXPECT_EQ(inner->base().remat()->mode, "activations");
  EXPECT_TRUE(says(error_of<ValueError>([] { RematScope scope({.mode = "some"}); }),
                   {"mode", "some", "larger_than"}));
  EXPECT_THROW(remat(std::function<Value(const Value&)>()), ValueError);
}

}  // namespace
}  // namespace stoker
