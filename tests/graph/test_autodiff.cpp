// What gradients() emits, and what it does not. That the numbers are right is checked for every op
// against finite differences in tests/engine.
#include <stoker/ops.h>

#include "base/host_function.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;
using testing::Not;

TEST(Gradients, HaveTheShapeOfWhatTheyAreTakenBy) {
  Graph graph;
  Variable w = weight("w", {4, 3}), b = weight("b", {3});
  Value x = f32(graph, {8, 4});
  Values found = gradients(ops::mean(ops::relu(ops::matmul(x, w) + b)), {x, w, b});
  EXPECT_EQ(found[0].shape(), x.shape());
  EXPECT_EQ(found[1].shape(), w.shape());
  EXPECT_EQ(found[2].shape(), b.shape());
}

TEST(Gradients, BelongToTheBackwardPhaseOfTheirLayer) {
  Graph graph;
  Variable w = weight("w", {4, 3});
  Value y;
  {
    Graph::Scope scope(graph, "dense");
    y = ops::matmul(f32(graph, {8, 4}), w);
  }
  size_t forward = graph.nodes().size() + 1;
  gradients(ops::sum(y), {w});
  EXPECT_EQ(graph.nodes().back().op->name, "matmul");
  EXPECT_EQ(graph.nodes().back().scope, "dense");
  for (size_t i = forward; i < graph.nodes().size(); ++i)
    EXPECT_EQ(graph.nodes()[i].phase, Phase::backward);
  EXPECT_EQ(graph.scope(), "");
}

TEST(Gradients, AreNotComputedForThoseNobodyAsksFor) {
  Graph graph;
  Variable w = weight("w", {3, 3, 1, 8});
  Value x = f32(graph, {4, 28, 28, 1});
  gradients(ops::sum(ops::conv2d(x, w)), {w});
  EXPECT_EQ(count(graph, "conv2d_weight_grad"), 1);
  EXPECT_EQ(count(graph, "conv2d_input_grad"), 0);
}

TEST(Gradients, AddUpWhereAValueIsUsedTwice) {
  Graph graph;
  Value x = f32(graph, {3});
  Value y = ops::exp(x) + ops::sin(x);
  size_t before = graph.nodes().size() + 1;
  gradients(ops::sum(y), {x});
  std::string backward;
  for (size_t i = before; i < graph.nodes().size(); ++i)
    backward += graph.nodes()[i].op->name + " ";
  EXPECT_EQ(backward, "broadcast_to unary_grad unary_grad binary ");
}

TEST(Gradients, ReadTheOutputWhereThatIsEnough) {
  Graph graph;
  Value x = f32(graph, {3});
  Value y = ops::sigmoid(x), z = ops::silu(x);
  gradients(ops::sum(y * z), {x});
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "unary_grad") continue;
    bool from_output = node.attrs.get<std::string>("fn") == "sigmoid";
    EXPECT_EQ(node.inputs[0], (from_output ? y : x).traced()->id);
  }
}

TEST(Gradients, NameWhatTheLossDoesNotDependOn) {
  Graph graph;
  Variable unused = weight("unused", {2, 2}), w = weight("w", {3});
  Value x = f32(graph, {3}), other = f32(graph, {4}, "other");
  auto error = [&](const Values& wrt) {
    return error_of<Error>([&] { gradients(ops::sum(x * w), wrt); });
  };
  EXPECT_THAT(error({x, unused}), HasSubstr("does not depend on variable \"unused\""));
  EXPECT_THAT(error({other}), HasSubstr("input \"other\""));
  EXPECT_THAT(error({Value(Tensor::zeros({3}))}), HasSubstr("a constant float32[3]"));
  EXPECT_THAT(error({ops::exp(other)}), HasSubstr("the result of unary"));
  EXPECT_EQ(error({x, w}), "");
}

TEST(Gradients, SayWhereThePathToTheLossEnds) {
  Graph graph;
  Value x = f32(graph, {3, 4});
  auto error = [&](const Value& loss) { return error_of<Error>([&] { gradients(loss, {x}); }); };
  EXPECT_THAT(error(ops::sum(ops::stop_gradient(ops::exp(x)))), HasSubstr("ops::stop_gradient"));
  EXPECT_THAT(error(ops::sum(ops::cast(ops::argmax(x), DType::float32))),
              HasSubstr("argmax, whose result is int64"));
  EXPECT_THAT(error(ops::sum(ops::cast(ops::greater(x, 0.0), DType::float32))),
              HasSubstr("compare, whose result is bool"));
}

TEST(Gradients, AreZerosOrUndefinedWhereThatIsAskedFor) {
  Graph graph;
  Variable unused = weight("unused", {2, 2});
  Value x = f32(graph, {3});
  Value loss = ops::sum(x);
  Values zeros = gradients(loss, Values{x, unused}, {.unconnected = Unconnected::zeros});
  EXPECT_EQ(zeros[1].spec(), unused.spec());
  EXPECT_EQ(graph.producer(zeros[1].traced()->id)->op->name, "broadcast_to");
  Values undefined = gradients(loss, Values{x, unused}, {.unconnected = Unconnected::undefined});
  EXPECT_TRUE(undefined[0].defined());
  EXPECT_FALSE(undefined[1].defined());
}

TEST(Gradients, AreZerosOfAFunctionThatIsFlat) {
  Graph graph;
  Value x = f32(graph, {3});
  EXPECT_EQ(gradients(ops::sum(ops::floor(x)), {x})[0].shape(), x.shape());
}

TEST(Gradients, ByANumberSayWhatToUseInstead) {
  Graph graph;
  Value x = f32(graph, {3}), c = 2.0;
  EXPECT_THAT(error_of<Error>([&] { gradients(ops::sum(x * c), {c}); }),
              HasSubstr("the number 2 cannot be differentiated by"));
}

TEST(Gradients, OfAVectorAreThoseOfItsSum) {
  Graph graph;
  Value x = f32(graph, {3});
  EXPECT_EQ(gradients(ops::exp(x), {x})[0].shape(), x.shape());
}

TEST(Gradients, StopWhereTheyAreToldTo) {
  Graph graph;
  Value x = f32(graph, {3});
  Value y = ops::stop_gradient(ops::exp(x));
  gradients(ops::sum(y * x), {x});
  EXPECT_EQ(count(graph, "unary_grad"), 0);
}

TEST(Gradients, DoNotPassThroughIntegers) {
  Graph graph;
  Value x = f32(graph, {3, 4});
  Value y = ops::cast(ops::argmax(x), DType::float32);
  gradients(ops::sum(y) + ops::sum(x), {x});
  EXPECT_EQ(count(graph, "cast"), 1);
}

TEST(Gradients, CastBackToTheDtypeTheyComeFrom) {
  Graph graph;
  Variable w = weight("w", {4, 3});
  Value x = graph.input("x", {DType::float16, {8, 4}});
  Value y = ops::matmul(x, ops::cast(graph.variable(w), DType::float16));
  Value gradient = gradients(ops::sum(ops::cast(y, DType::float32)), {w})[0];
  EXPECT_EQ(gradient.spec(), w.spec());
}

TEST(Gradients, SumOverBroadcastAxes) {
  Graph graph;
  Variable column = weight("column", {3, 1});
  Value x = f32(graph, {8, 3, 4});
  EXPECT_EQ(gradients(x * column, {column})[0].shape(), column.shape());
  EXPECT_EQ(only(graph, "reduce").attrs.get<Ints>("axes"), Ints({0, 2}));
}

TEST(Gradients, NameTheOpAndLayerThatHasNone) {
  Graph graph;
  Value x = f32(graph, {3});
  auto function = std::make_shared<HostFunction>();
  function->name = "augment";
  function->infer = [](std::span<const TensorSpec> inputs) {
    return std::vector<TensorSpec>(inputs.begin(), inputs.end());
  };
  Value y;
  {
    Graph::Scope scope(graph, "host_layer");
    y = apply1("host_call", {x}, {{"function", std::shared_ptr<const HostFunction>(function)}});
  }
  EXPECT_THAT(error_of<Error>([&] { gradients(ops::sum(y), {x}); }),
              HasSubstr("host_call \"host_layer\": the host function \"augment\" has no gradient"));
  EXPECT_NO_THROW(gradients(ops::sum(ops::stop_gradient(y)) + ops::sum(x), {x}));
}

TEST(Gradients, OfAHostFunctionAreTheFunctionsOwn) {
  Graph graph;
  Value x = f32(graph, {3});
  auto gradient = std::make_shared<HostFunction>();
  gradient->name = "twice_gradient";
  gradient->infer = [](std::span<const TensorSpec> inputs) {
    return std::vector<TensorSpec>{inputs[0]};
  };
  auto function = std::make_shared<HostFunction>();
  function->name = "twice";
  function->infer = [](std::span<const TensorSpec> inputs) {
    return std::vector<TensorSpec>{inputs[0], inputs[0]};
  };
  function->gradient = gradient;
  Values y = apply("host_call", {x}, {{"function", std::shared_ptr<const HostFunction>(function)}});
  gradients(ops::sum(y[0]), {x});
  const Node& call = graph.nodes().back();
  EXPECT_EQ(call.op->name, "host_call");
  EXPECT_EQ(call.inputs.size(),
            5U);  // x, two outputs, and a gradient for each: zeros for the second
}

TEST(Gradients, AreForFloatsOfOneGraph) {
  Graph graph, other;
  Value x = f32(graph, {3}), n = i64(graph, {3});
  EXPECT_THAT(error_of([&] { gradients(n, {x}); }), HasSubstr("the loss must be floating point"));
  EXPECT_THAT(error_of([&] { gradients(ops::sum(x), Values{n}); }), HasSubstr("int64[3]"));
  EXPECT_THAT(error_of<Error>([&] { gradients(ops::sum(x), Values{f32(other, {3})}); }),
              HasSubstr("two different graphs"));
  EXPECT_THAT(error_of<Error>([] { gradients(Value(1.0), Values{}); }),
              HasSubstr("not part of a graph"));
}

TEST(Gradients, OfEveryMatmulFormFitTheirOperands) {
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true})
      for (bool stacked : {false, true}) {
        Graph graph;
        Value a = f32(graph, transpose_a ? Shape{7, 3, 2} : Shape{7, 2, 3});
        Shape matrix = transpose_b ? Shape{5, 3} : Shape{3, 5};
        Value b = f32(graph, stacked ? matrix.prepend(7) : matrix);
        Value y = ops::matmul(a, b, {.transpose_a = transpose_a, .transpose_b = transpose_b});
        Values found = gradients(ops::sum(y), Values{a, b});
        EXPECT_EQ(found[0].shape(), a.shape());
        EXPECT_EQ(found[1].shape(), b.shape());
      }
}

}  // namespace stoker
