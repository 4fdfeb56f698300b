#include <gtest/gtest.h>

#include <algorithm>

#include <stoker/stoker.h>

#include "graph/passes/passes.h"
#include "train/model/model_base.h"

namespace stoker {
namespace {

TEST(Applications, HaveTheParametersOfTheOriginals) {
  EXPECT_EQ(applications::resnet18().count_params() - 9600, 11'689'512);   // torchvision's, without
  EXPECT_EQ(applications::resnet50().count_params() - 53120, 25'557'032);  // the moving statistics
  EXPECT_EQ(applications::mobilenet().count_params(), 4'253'864);          // Keras's
  applications::Options digits{.input_shape = {28, 28, 1}, .classes = 10};
  EXPECT_EQ(applications::mlp(digits).count_params(), 784 * 512 + 512 + 512 * 512 + 512 + 5130);
  EXPECT_EQ(applications::lenet(digits).count_params(), 61'706);
  EXPECT_EQ(applications::cnn(digits).count_params(), 640 + 73'856 + 3200 * 10 + 10);
  EXPECT_EQ(applications::cnn_small(digits).count_params(), 320 + 18'496 + 1600 * 10 + 10);
}

TEST(Applications, CountTheWorkOfAForwardPass) {
  // He et al. give 3.8 billion multiply-adds; with the stride in the 3×3 it is 4.1.
  EXPECT_NEAR(count_flops(applications::resnet50()), 2 * 4.1e9, 0.2e9);
}

// Their layers of padding cost nothing: engines make them part of what follows, in sixteen bits
// too.
TEST(Applications, HaveNoPaddingLeftInAStep) {
  for (DType dtype : {DType::float32, DType::bfloat16}) {
    Model model = applications::resnet50({.input_shape = {64, 64, 3}, .classes = 5});
    Graph graph;
    graph.set_training(true);
    graph.set_compute_dtype(dtype);
    CallContext context(graph);
    Value x = graph.input("x", {DType::float32, {2, 64, 64, 3}});
    Value y = ModelAccess::base(model).call({x}, context)[0];
    Value loss = ops::mean(ops::square(ops::cast(y, DType::float32)));
    graph.output(loss, "loss");
    for (const Value& gradient : gradients(loss, model.trainable_variables()))
      graph.output(gradient, "gradient");
    passes::merge_duplicates(graph);
    EXPECT_EQ(passes::fold_padding(graph), 5);  // the stem, its pooling, three strides
    for (const char* op : {"pad", "slice"})
      EXPECT_TRUE(std::ranges::none_of(graph.nodes(),
                                       [&](const Node& node) { return node.op->name == op; }))
          << op << " in " << name(dtype);
  }
}

TEST(Applications, TakeSmallPicturesAndBytes) {
  for (const std::string& name : applications::names()) {
    Model model = applications::by_name(
        name, {.input_shape = {32, 32, 3}, .classes = 7, .dtype = DType::uint8});
    EXPECT_EQ(model.outputs()[0].shape(), Shape({-1, 7})) << name;
    EXPECT_EQ(model.inputs()[0].dtype(), DType::uint8) << name;
  }
}

TEST(Applications, BytesAreRescaled) {
  set_seed(5);
  Model bytes =
      applications::lenet({.input_shape = {16, 16, 1}, .classes = 3, .dtype = DType::uint8});
  set_seed(5);
  Model numbers = applications::lenet({.input_shape = {16, 16, 1}, .classes = 3});
  Tensor white = Tensor::full({1, 16, 16, 1}, 255, DType::uint8);
  EXPECT_EQ(bytes(white), numbers(Tensor::full({1, 16, 16, 1}, 1)));
}

TEST(Applications, SayWhatTheyCannotTake) {
  EXPECT_THROW(applications::resnet18({.input_shape = {8, 8, 3}}), ShapeError);
  EXPECT_THROW(applications::cnn({.input_shape = {784}}), ShapeError);
  EXPECT_THROW(applications::mlp({.classes = 1}), ValueError);
  try {
    applications::by_name("resnet");
    FAIL() << "resnet is no name";
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("mlp, lenet, cnn, cnn-small, resnet18"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace stoker
