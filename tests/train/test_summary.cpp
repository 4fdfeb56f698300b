#include "train/helpers.h"

namespace stoker {
namespace {

using test::OnDevice;
using test::says;

TEST(Summary, OfASequentialShowsShapesParametersAndFlops) {
  Sequential model({Input({28, 28, 1}), Conv2D(8, 3, {.activation = "relu"}), MaxPooling2D(2),
                    Flatten(), Dense(10)},
                   {.name = "digits"});
  std::string text = model.summary();
  EXPECT_TRUE(says(text, {"Sequential \"digits\"", "conv2d (Conv2D)", "[None, 26, 26, 8]", "80",
                          "max_pooling2d (MaxPooling2D)", "dense (Dense)", "13,530",
                          "Parameters: 13,610", "non-trainable 0"}));
  EXPECT_EQ(text.find("Connected to"), std::string::npos);
  EXPECT_EQ(text.find("Memory"), std::string::npos);  // not compiled
  // 26 · 26 · 8 outputs of 9 multiply-adds, bias and relu on top.
  EXPECT_TRUE(says(text, {"108.16 k"}));
}

TEST(Summary, OfAFunctionalModelShowsConnections) {
  Value in = Input({4}, {.name = "features"});
  Dense shared(4, {.name = "twice"});
  Model model(in, Add({.name = "sum"})({shared(shared(in)), in * 2.0}));
  std::string text = model.summary();
  EXPECT_TRUE(says(text, {"Connected to", "features (Input)", "twice (Dense)", "features; twice",
                          "mul (op)", "twice, mul", "Parameters: 20"}));
}

TEST(Summary, TellsInputsAndOpsOfOneNameApart) {
  Value a = Input({4}), b = Input({3});
  Value x = ops::tanh(a), y = ops::tanh(b);
  Model model({a, b}, {ops::concatenate({x, Dense(2, {.name = "tanh_1"})(y)})});
  std::string text = model.summary();
  auto row = [&](const std::string& title) {
    size_t at = text.find(title);
    return at == std::string::npos ? "no " + title : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_TRUE(row("tanh (op)").ends_with("  input_layer"));
  EXPECT_TRUE(row("tanh_2 (op)").ends_with("  input_layer_1"));
  EXPECT_TRUE(row("tanh_1 (Dense)").ends_with("  tanh_2"));
  EXPECT_TRUE(row("concat (op)").ends_with("  tanh, tanh_1"));
}

class SummaryMemory : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(SummaryMemory);

TEST_P(SummaryMemory, IsKnownBeforeTheFirstStep) {
  Sequential model(
      {Input({16}), Dense(32, {.activation = "relu"}), Dense(10, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  std::string small = model.summary({.batch_size = 8}), large = model.summary({.batch_size = 512});
  EXPECT_TRUE(says(small, {"Memory of a training step at batch 8", "weights", "optimizer",
                           "activations", "total"}));
  MemoryUse plan = *model.memory_plan(8);
  EXPECT_GE(plan.weights, size_t(model.count_params()) * 4);
  EXPECT_GE(plan.optimizer, size_t(model.count_params()) * 8);
  EXPECT_EQ(plan.weights + plan.gradients + plan.optimizer + plan.activations + plan.workspace +
                plan.inputs + plan.metrics,
            plan.total);
  EXPECT_LT(plan.total, model.memory_plan(512)->total);
  EXPECT_NE(small.substr(small.find("activations")), large.substr(large.find("activations")));
}

}  // namespace
}  // namespace stoker
