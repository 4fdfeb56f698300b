// Products of codes with scales that are no numbers. What is stored must not depend on the engine, on
// the version of its libraries, or on whether a scale is known when the program is built.
#include <gtest/gtest.h>

#include <limits>

#include "engine/device_test.h"
#include "engine/run_graph.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "support/draw.h"

namespace stoker::test {

namespace {

constexpr int64_t kInner = 16, kUnits = 4, kZeroPoint = 100;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Every row filled with its number.
Tensor filled(DType dtype, const Shape& shape, const std::vector<double>& rows) {
  std::vector<double> values;
  for (double row : rows) values.insert(values.end(), size_t(shape.elements()) / rows.size(), row);
  return make_tensor({dtype, shape}, values);
}

struct Product {
  std::string op;
  bool constant;  // the scales are constants of the graph; else an input
  int64_t low, high;
};

// Two rows, of zeros and of ones, times weights of 1, 1, -1, 1 with scales NaN, ∞, ∞, 1 / 2.
std::vector<double> codes(const Product& product, Backend& device) {
  bool conv = product.op == "quantized_conv2d";
  std::vector<Tensor> all = {
      filled(DType::uint8, conv ? Shape{2, 1, 1, kInner} : Shape{2, kInner}, {0, 1}),
      filled(DType::int8, conv ? Shape{kUnits, 1, 1, kInner} : Shape{kUnits, kInner},
             {1, 1, -1, 1}),
      filled(DType::float32, {kUnits}, {kNan, kInfinity, kInfinity, 0.5}),
      Tensor::zeros({kUnits}, DType::int32)};
  Attrs attrs = {{"x_scale", 1.0},     {"x_zero_point", int64_t(0)},
                 {"y_scale", 1.0},     {"y_zero_point", kZeroPoint},
                 {"low", product.low}, {"high", product.high}};
  if (conv) {
    attrs.set("strides", Ints{1, 1});
    attrs.set("pads", Ints{0, 0, 0, 0});
  }
  Graph graph;
  Values operands;
  std::vector<Tensor> inputs;
  for (const Tensor& tensor : all)
    if (product.constant && operands.size() == 2) {
      operands.push_back(graph.constant(tensor));
    } else {
      operands.push_back(graph.input("x" + std::to_string(operands.size()), tensor.spec()));
      inputs.push_back(tensor);
    }
  graph.output(graph.add(OpRegistry::get().find(product.op), operands, attrs)[0], "y");
  Tensor y = run_graph(graph, inputs, device)[0];
  std::vector<double> found;
  for (int64_t i = 0; i < y.elements(); ++i) found.push_back(y.at(i));
  return found;
}

class ScalesThatAreNoNumbers : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(On, ScalesThatAreNoNumbers, ::testing::ValuesIn(device_names()),
                         device_name);

// NaN, and infinity times zero, are stored as the lowest code; infinities as the nearest limit.
TEST_P(ScalesThatAreNoNumbers, AreStoredAsLimits) {
  for (const char* op : {"quantized_matmul", "quantized_conv2d"})
    for (bool constant : {false, true}) {
      SCOPED_TRACE(std::string(op) + (constant ? ", constants" : ", inputs"));
      EXPECT_EQ(codes({op, constant, 0, 255}, device()),
                (std::vector<double>{0, 0, 0, 100, 0, 255, 0, 108}));
      EXPECT_EQ(codes({op, constant, 20, 200}, device()),
                (std::vector<double>{20, 20, 20, 100, 20, 200, 20, 108}));
    }
}

}  // namespace

}  // namespace stoker::test
