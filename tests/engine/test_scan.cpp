// ops::scan: loops in a graph, on every engine.
#include <gtest/gtest.h>
#include <stoker/ops.h>
#include <stoker/ops_loops.h>

#include "engine/device_test.h"
#include "graph/graph.h"
#include "support/devices.h"

namespace stoker::test {
namespace {

using Body = std::function<Values(const Values& inputs)>;

std::vector<Tensor> run_body(const std::string& device, const std::vector<Tensor>& inputs,
                             const Body& body) {
  Graph graph;
  Variable state("random_state", Tensor::from({int64_t(7), int64_t(3)}, {2}));
  graph.set_random_state(graph.variable(state));
  Values values;
  for (const Tensor& input : inputs) values.push_back(graph.input("x", input.spec()));
  {
    Graph::Scope scope(graph, "test");
    for (const Value& output : body(values)) graph.output(output, "y");
  }
  std::unique_ptr<Program> program = backend(device).compile(graph, {});
  program->run(inputs);
  program->run(inputs);  // and again in the same memory
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
  return outputs;
}

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

ops::ScanStep decay(const Values& carry, const Values& x) {
  Value next = carry[0] * 0.5 + x[0];
  return {{next}, {next}};
}

TEST(Scan, StacksWhatEveryStepGives) {
  Tensor x = Tensor::from<float>({1, 2, 4}, {3});
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    std::vector<Tensor> y = run_body(device, {x}, [](const Values& in) {
      ops::ScanResult made = ops::scan(decay, {Value(Tensor(8.0F))}, {in[0]});
      ops::ScanResult back = ops::scan(decay, {Value(Tensor(8.0F))}, {in[0]}, {.reverse = true});
      return Values{made.outputs[0], made.carry[0], back.outputs[0], back.carry[0]};
    });
    EXPECT_EQ(floats_of(y[0]), (std::vector<float>{5, 4.5, 6.25}));
    EXPECT_EQ(floats_of(y[1]), (std::vector<float>{6.25}));
    EXPECT_EQ(floats_of(y[2]), (std::vector<float>{4, 6, 8}));
    EXPECT_EQ(floats_of(y[3]), (std::vector<float>{4}));
  }
}

// d/dw of Σ over steps of a captured weight, by hand: y_t = w · y_{t-1} + x_t.
TEST(Scan, SumsTheGradientsOfWhatItCaptures) {
  Tensor x = Tensor::from<float>({1, 2, 3}, {3}), w = Tensor(2.0F);
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    std::vector<Tensor> slopes = run_body(device, {x, w}, [](const Values& in) {
      Value start(Tensor(0.0F));
      Value y = ops::scan(
                    [&](const Values& carry, const Values& slices) {
                      Value next = carry[0] * in[1] + slices[0];
                      return ops::ScanStep{{next}, {}};
                    },
                    {start}, {in[0]})
                    .carry[0];
      return gradients(y, {in[0], in[1]});  // y = w² x₀ + w x₁ + x₂
    });
    EXPECT_EQ(floats_of(slopes[0]), (std::vector<float>{4, 2, 1}));
    EXPECT_EQ(floats_of(slopes[1]), (std::vector<float>{2 * 2 * 1 + 2}));
  }
}

TEST(Scan, HasSecondDerivatives) {
  Tensor x = Tensor::from<float>({1, 1, 1}, {3}), w = Tensor(3.0F);
  std::vector<Tensor> second = run_body("reference", {x, w}, [](const Values& in) {
    Value y = ops::scan(
                  [&](const Values& carry, const Values& slices) {
                    return ops::ScanStep{{carry[0] * in[1] + slices[0]}, {}};
                  },
                  {Value(Tensor(1.0F))}, {in[0]})
                  .carry[0];
    Value slope = gradients(y, {in[1]})[0];  // y = w³ + w² + w + 1
    return gradients(slope, {in[1]});
  });
  EXPECT_EQ(floats_of(second[0]), (std::vector<float>{6 * 3 + 2}));
}

TEST(Scan, NestsAndUsesVariables) {
  Variable step("step", Tensor(2.0F));
  Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    std::vector<Tensor> y = run_body(device, {x}, [&](const Values& in) {
      auto rows = [&](const Values& outer, const Values& row) {
        auto elements = [&](const Values& inner, const Values& element) {
          return ops::ScanStep{{inner[0] + element[0] * step + outer[0] * 0}, {}};
        };
        return ops::ScanStep{ops::scan(elements, outer, {row[0]}).carry, {}};
      };
      Value sum = ops::scan(rows, {Value(Tensor(0.0F))}, {in[0]}).carry[0];
      return Values{sum, gradients(sum, std::vector<Variable>{step})[0]};
    });
    EXPECT_EQ(floats_of(y[0]), (std::vector<float>{20}));
    EXPECT_EQ(floats_of(y[1]), (std::vector<float>{10}));
  }
}

TEST(Scan, DrawsOtherNumbersInEveryStepAndTheSameOnEveryEngine) {
  std::vector<float> expected;
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    std::vector<Tensor> y = run_body(device, {Tensor::full({3, 64}, 1)}, [](const Values& in) {
      auto step = [&](const Values&, const Values& x) {
        Graph& graph = *x[0].traced()->graph;
        return ops::ScanStep{{}, {ops::dropout(x[0], graph.random_state(), 0.5, 1)}};
      };
      Value dropped = ops::scan(step, {}, {in[0]}).outputs[0];
      return Values{dropped, gradients(ops::sum(dropped), {in[0]})[0]};
    });
    std::vector<float> got = floats_of(y[0]);
    EXPECT_EQ(got, floats_of(y[1]));  // what was dropped has no gradient
    EXPECT_NE(std::vector<float>(got.begin(), got.begin() + 64),
              std::vector<float>(got.begin() + 64, got.begin() + 128));
    if (expected.empty()) expected = got;
    EXPECT_EQ(got, expected);
  }
}

// Steps behind the end of a while_loop would take years.
TEST(WhileLoop, StopsWhereItsConditionFailsOnTheCpu) {
  std::vector<Tensor> y = run_body("cpu", {Tensor(3.0F)}, [](const Values& in) {
    return ops::while_loop([](const Values& v) { return ops::less(v[0], 100.0); },
                           [](const Values& v) -> Values {
                             return {v[0] * 2.0, v[1] + 1};
                           },
                           {in[0], Value(Tensor::zeros({}, DType::int32))},
                           {.maximum_iterations = int64_t(1) << 50});
  });
  EXPECT_EQ(floats_of(y[0]), (std::vector<float>{192}));
  EXPECT_EQ(y[1].at(0), 6);
}

// x ← x² while x < 50: the loop back leaves out the same steps, and second derivatives follow.
TEST(WhileLoop, HasTheGradientsOfTheStepsThatRan) {
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    std::vector<Tensor> y = run_body(device, {Tensor(2.0F)}, [](const Values& in) {
      Value end = ops::while_loop([](const Values& v) { return ops::less(v[0], 50.0); },
                                  [](const Values& v) -> Values { return {v[0] * v[0]}; }, {in[0]},
                                  {.maximum_iterations = 7})[0];
      Value slope = gradients(end, {in[0]})[0];
      return Values{end, slope, gradients(slope, {in[0]})[0]};
    });
    EXPECT_EQ(floats_of(y[0]), (std::vector<float>{256}));         // x⁸
    EXPECT_EQ(floats_of(y[1]), (std::vector<float>{8 * 128}));     // 8x⁷
    EXPECT_EQ(floats_of(y[2]), (std::vector<float>{8 * 7 * 64}));  // 56x⁶
  }
}

TEST(Scan, GraphDoesNotGrowWithTheLength) {
  auto nodes = [](int64_t length) {
    Graph graph;
    Value x = graph.input("x", {DType::float32, {length}});
    Value y = ops::scan(decay, {Value(Tensor(0.0F))}, {x}).carry[0];
    gradients(y, {x});
    return graph.nodes().size();
  };
  EXPECT_EQ(nodes(4), nodes(4000));
}

// An elementwise loop keeps one number per step for its gradient, and little besides.
TEST(Scan, MemoryIsLinearInTheLength) {
  auto arena = [](int64_t length) {
    Graph graph;
    Value x = graph.input("x", {DType::float32, {length, 1024}});
    Value y = ops::scan(
                  [](const Values& carry, const Values& slices) {
                    return ops::ScanStep{{ops::tanh(carry[0] + slices[0])}, {}};
                  },
                  {Value(Tensor::zeros({1024}))}, {x})
                  .carry[0];
    graph.output(gradients(ops::sum(y), {x})[0], "dx");
    return double(backend("cpu").compile(graph, {})->memory().arena);
  };
  EXPECT_LT(arena(400), 2.1 * arena(200));
}

TEST(Scan, SaysWhatIsWrong) {
  Graph graph;
  Value x = graph.input("x", {DType::float32, {3, 2}});
  auto message = [&](const std::function<void()>& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_NE(message([&] {
              ops::scan(
                  [](const Values&, const Values& s) {
                    return ops::ScanStep{{s[0]}, {}};
                  },
                  {Value(Tensor(0.0F))}, {x});
            }).find("turns carry 0 from float32[] into float32[2]"),
            std::string::npos);
  EXPECT_NE(message([&] { ops::scan(decay, {x}, {}); }).find("length"), std::string::npos);
  EXPECT_NE(message([&] {
              ops::scan(
                  [](const Values& c, const Values&) {
                    return ops::ScanStep{c, {}};
                  },
                  {}, {x, graph.input("z", {DType::float32, {4}})});
            }).find("3 steps"),
            std::string::npos);
  Variable variable("v", Tensor(0.0F));
  EXPECT_NE(message([&] {
              ops::scan(
                  [&](const Values& c, const Values&) {
                    variable.assign(Value(Tensor(1.0F)));
                    return ops::ScanStep{c, {}};
                  },
                  {}, {x});
            }).find("inside a loop"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker::test
