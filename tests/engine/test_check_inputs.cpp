#include <cmath>

#include <gtest/gtest.h>
#include <stoker/ops.h>

#include "engine/backend.h"

namespace stoker {

namespace {

// x: float32 [4, 10], y: int64 [8] with class ids below 10.
struct TwoInputs {
  Graph graph;
  TwoInputs() {
    graph.input("x", {DType::float32, {4, 10}});
    Value y = graph.input("y", {DType::int64, {8}});
    graph.limit(y, {10, "class id"});
  }
};

template <class E>
std::string error_of(const Graph& graph, std::vector<Tensor> inputs) {
  try {
    check_inputs(graph, inputs);
  } catch (const E& error) {
    return error.what();
  }
  return "accepted";
}

Tensor x() { return Tensor::zeros({4, 10}); }
Tensor labels(std::vector<int64_t> values) { return Tensor::from(values, {8}); }

TEST(CheckInputs, AcceptsWhatTheGraphExpects) {
  TwoInputs two;
  std::vector<Tensor> inputs = {x(), labels({0, 9, 1, 2, 3, 4, 5, 6})};
  EXPECT_NO_THROW(check_inputs(two.graph, inputs));
}

TEST(CheckInputs, NamesTheInputsWhenTheirNumberIsWrong) {
  TwoInputs two;
  std::string text = error_of<ShapeError>(two.graph, {x()});
  EXPECT_NE(text.find("2 inputs (\"x\", \"y\") was given 1"), std::string::npos) << text;
}

TEST(CheckInputs, NamesTheInputWithAWrongShape) {
  TwoInputs two;
  EXPECT_EQ(
      error_of<ShapeError>(two.graph, {Tensor::zeros({4, 9}), labels({0, 1, 2, 3, 4, 5, 6, 7})}),
      "input \"x\": expected float32[4, 10], got float32[4, 9]");
}

TEST(CheckInputs, NamesTheInputWithAWrongDtype) {
  TwoInputs two;
  EXPECT_EQ(error_of<ShapeError>(two.graph, {x(), Tensor::zeros({8}, DType::int32)}),
            "input \"y\": expected int64[8], got int32[8]");
}

TEST(CheckInputs, RefusesAnUndefinedTensor) {
  TwoInputs two;
  EXPECT_EQ(error_of<ShapeError>(two.graph, {x(), Tensor()}),
            "input \"y\": expected int64[8], got an undefined tensor");
}

TEST(CheckInputs, TellsWhichLabelIsOutOfRange) {
  TwoInputs two;
  EXPECT_EQ(error_of<ValueError>(two.graph, {x(), labels({0, 1, 2, 3, 4, 12, 6, 7})}),
            "input \"y\": class id 12 at element 5 is outside [0, 10)");
  EXPECT_EQ(error_of<ValueError>(two.graph, {x(), labels({0, 1, 2, 3, 4, 5, 6, -1})}),
            "input \"y\": class id -1 at element 7 is outside [0, 10)");
  EXPECT_EQ(error_of<ValueError>(two.graph, {x(), labels({10, 1, 2, 3, 4, 5, 6, 11})}),
            "input \"y\": class id 10 at element 0 is outside [0, 10)");
}

TEST(CheckInputs, ChecksLabelsOfEveryIntegerDtype) {
  Graph graph;
  graph.limit(graph.input("y", {DType::uint8, {2}}), {10, "class id"});
  EXPECT_EQ(error_of<ValueError>(graph, {Tensor::from<uint8_t>({3, 200}, {2})}),
            "input \"y\": class id 200 at element 1 is outside [0, 10)");
}

TEST(CheckInputs, ChecksLabelsThatAreFloats) {
  Graph graph;
  Value y = graph.input("y", {DType::float32, {2}});
  graph.limit(ops::cast(ops::reshape(y, {2, 1}), DType::int32), {10, "class id"});
  EXPECT_NO_THROW(check_inputs(graph, std::vector{Tensor::from<float>({3, 9}, {2})}));
  EXPECT_EQ(error_of<ValueError>(graph, {Tensor::from<float>({3, 0.5F}, {2})}),
            "input \"y\": class id 0.5 at element 1 is not a whole number");
  EXPECT_EQ(error_of<ValueError>(graph, {Tensor::from<float>({NAN, 1}, {2})}),
            "input \"y\": class id nan at element 0 is not a whole number");
  EXPECT_EQ(error_of<ValueError>(graph, {Tensor::from<float>({3, 10}, {2})}),
            "input \"y\": class id 10 at element 1 is outside [0, 10)");
}

TEST(CheckInputs, AcceptsAGraphWithoutInputs) {
  Graph graph;
  EXPECT_NO_THROW(check_inputs(graph, {}));
}

}  // namespace

}  // namespace stoker
