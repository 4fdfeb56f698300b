// What a Program promises (engine/backend.h), on every backend.
#include "engine/device_test.h"

#include <stoker/ops.h>

#include "engine/guarded_step.h"
#include "support/draw.h"

namespace stoker::test {

namespace {

class ProgramTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(On, ProgramTest, ::testing::ValuesIn(device_names()), device_name);

TEST_P(ProgramTest, WhatIsWrittenBetweenRunsIsSeen) {
  GuardedStep step;
  auto program = compile(step.graph);
  program->run(std::vector{vector(1, 1, 2)});
  step.w.write(vector(10, 20, 30));
  program->run(std::vector{vector(1, 0, 0)});
  EXPECT_EQ(program->scalar(0), 10);
  EXPECT_EQ(step.w.read(), vector(9.5, 20, 30));
}

TEST_P(ProgramTest, AssignmentsSwap) {
  Graph graph;
  Variable a("a", vector(1, 2, 3)), b("b", vector(4, 5, 6));
  graph.assign(a, graph.variable(b));
  graph.assign(b, graph.variable(a));
  auto program = compile(graph);
  program->run({});
  EXPECT_EQ(a.read(), vector(4, 5, 6));
  EXPECT_EQ(b.read(), vector(1, 2, 3));
  program->run({});
  EXPECT_EQ(a.read(), vector(1, 2, 3));
}

TEST_P(ProgramTest, AssignmentsTakeInputsConstantsAndOneValueTwice) {
  Graph graph;
  Variable from_input("i", vector(0, 0, 0)), from_constant("c", vector(0, 0, 0));
  Variable first("1", vector(0, 0, 0)), second("2", vector(0, 0, 0));
  Value x = graph.input("x", kVector), twice = x + x;
  graph.assign(from_input, x);
  graph.assign(from_constant, graph.constant(vector(7, 8, 9)));
  graph.assign(first, twice);
  graph.assign(second, twice);
  compile(graph)->run(std::vector{vector(1, 2, 3)});
  EXPECT_EQ(from_input.read(), vector(1, 2, 3));
  EXPECT_EQ(from_constant.read(), vector(7, 8, 9));
  EXPECT_EQ(first.read(), vector(2, 4, 6));
  EXPECT_EQ(second.read(), vector(2, 4, 6));
}

TEST_P(ProgramTest, NodesAndOutputsSeeTheOldValueOfAnAssignedVariable) {
  Graph graph;
  Variable w("w", vector(1, 2, 3));
  Value old = graph.variable(w), g = graph.input("g", kVector);
  Value updated = apply1("sgd_update", {graph.constant(Tensor(1.0F)), old, g}, plain_sgd());
  graph.assign(w, updated);
  graph.output(old * old, "after the update");
  graph.output(old, "the variable");
  graph.output(updated, "the new value");
  auto program = compile(graph);
  program->run(std::vector{vector(1, 1, 1)});
  EXPECT_EQ(program->output(0), vector(1, 4, 9));
  EXPECT_EQ(program->output(1), vector(1, 2, 3));
  EXPECT_EQ(program->output(2), vector(0, 1, 2));
  EXPECT_EQ(w.read(), vector(0, 1, 2));
}

TEST_P(ProgramTest, OutputsMayBeInputsConstantsAndRepeated) {
  Graph graph;
  Value x = graph.input("x", kVector), sum = x + x;
  graph.output(x, "x");
  graph.output(graph.constant(vector(7, 8, 9)), "constant");
  graph.output(sum, "sum");
  graph.output(sum, "sum again");
  auto program = compile(graph);
  program->run(std::vector{vector(1, 2, 3)});
  EXPECT_EQ(program->output(0), vector(1, 2, 3));
  EXPECT_EQ(program->output(1), vector(7, 8, 9));
  EXPECT_EQ(program->output(2), vector(2, 4, 6));
  EXPECT_EQ(program->output(3), vector(2, 4, 6));
}

TEST_P(ProgramTest, AnOutputIsACopyThatLaterRunsLeaveAlone) {
  GuardedStep step;
  step.graph.output(step.graph.variable(step.w) + 1.0, "w + 1");
  auto program = compile(step.graph);
  program->run(std::vector{vector(1, 1, 2)});
  Tensor first = program->output(1);
  program->run(std::vector{vector(5, 5, 5)});
  EXPECT_EQ(first, vector(2, 3, 4));
}

TEST_P(ProgramTest, OutlivesItsGraph) {
  auto step = std::make_unique<GuardedStep>();
  Variable w = step->w;
  auto program = compile(step->graph);
  step.reset();
  program->run(std::vector{vector(1, 1, 2)});
  EXPECT_EQ(program->scalar(0), 9);
  EXPECT_EQ(w.read(), vector(0.5, 1.5, 2));
}

TEST_P(ProgramTest, RefusesInputsOfAnotherSpec) {
  GuardedStep step;
  auto program = compile(step.graph);
  EXPECT_THROW(program->run({}), ShapeError);
  EXPECT_THROW(program->run(std::vector{Tensor::zeros({4})}), ShapeError);
  EXPECT_THROW(program->run(std::vector{Tensor()}), ShapeError);
  EXPECT_EQ(step.w.read(), vector(1, 2, 3));
}

TEST_P(ProgramTest, RefusesALabelOutOfRange) {
  Graph graph;
  Value logits = graph.input("x", {DType::float32, {3, 10}});
  Value y = graph.input("y", {DType::int32, {3}});
  graph.output(ops::sparse_softmax_cross_entropy(logits, y), "loss");
  auto program = compile(graph);
  Tensor x = Tensor::zeros({3, 10});
  EXPECT_NO_THROW(program->run(std::vector{x, Tensor::from<int32_t>({0, 9, 5}, {3})}));
  try {
    program->run(std::vector{x, Tensor::from<int32_t>({0, 9, 12}, {3})});
    ADD_FAILURE() << "a class id of 12 was accepted";
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(), "input \"y\": class id 12 at element 2 is outside [0, 10)");
  }
}

// Labels that the graph computes cannot be refused; they count as class 0, or the nearest row.
TEST_P(ProgramTest, ComputedLabelsAndIndicesOutOfRangeAreDefined) {
  Graph graph;
  Value table = graph.input("table", {DType::float32, {3, 2}});
  Value raw = graph.input("indices", {DType::int32, {4}});
  Value indices = raw + graph.constant(Tensor::full({}, 0, DType::int32));
  graph.output(ops::gather(table, indices), "rows");
  graph.output(
      ops::sparse_softmax_cross_entropy(graph.input("logits", {DType::float32, {4, 3}}), indices),
      "loss");
  auto program = compile(graph);
  Tensor logits = Tensor::from<float>({3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1}, {4, 3});
  program->run(std::vector{Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}),
                           Tensor::from<int32_t>({-5, 0, 1, 9}, {4}), logits});
  EXPECT_EQ(program->output(0), Tensor::from<float>({1, 2, 1, 2, 3, 4, 5, 6}, {4, 2}));
  std::vector<double> loss = numbers(program->output(1));
  EXPECT_EQ(loss[0], loss[1]);
  EXPECT_EQ(loss[3], loss[1]);
  EXPECT_NEAR(loss[2], loss[1] + 1, 1e-6);
}

TEST_P(ProgramTest, FindNonFiniteNamesTheFirstOpAndItsLayer) {
  Graph graph;
  Variable w("w", vector(1, 2, 3));
  Value x = graph.input("x", kVector), y, z;
  {
    Graph::Scope layer(graph, "dense_1");
    y = x * Value(w);
  }
  {
    Graph::Scope layer(graph, "log_layer");
    z = ops::log(y);
  }
  {
    Graph::Scope layer(graph, "after");
    graph.output(ops::sum(z * z), "loss");
  }
  graph.assign(w, z);
  auto program = compile(graph);
  EXPECT_FALSE(program->find_non_finite(std::vector{vector(1, 1, 1)}).has_value());
  auto found = program->find_non_finite(std::vector{vector(1, -1, 1)});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->op, "unary");
  EXPECT_EQ(found->scope, "log_layer");
  EXPECT_EQ(found->spec, kVector);
  EXPECT_EQ(w.read(), vector(1, 2, 3)) << "looking must not update";
}

TEST_P(ProgramTest, RunTimedDoesWhatRunDoes) {
  GuardedStep step;
  auto program = compile(step.graph);
  std::vector<int64_t> nanoseconds;
  EXPECT_EQ(program->run_timed(std::vector{vector(1, 1, 2)}, nanoseconds), RunStatus::ok);
  EXPECT_EQ(nanoseconds.size(), program->kernels().size());
  for (int64_t time : nanoseconds) EXPECT_GE(time, 0);
  EXPECT_EQ(program->scalar(0), 9);
  EXPECT_EQ(step.w.read(), vector(0.5, 1.5, 2));
}

TEST_P(ProgramTest, KernelsTellOpLayerAndCost) {
  Graph graph;
  Graph::Scope layer(graph, "dense_1");
  Value x = graph.input("x", {DType::float32, {4, 5}}),
        w = graph.input("w", {DType::float32, {5, 6}});
  graph.output(ops::matmul(x, w), "y");
  auto program = compile(graph);
  bool found = false;
  for (const KernelInfo& kernel : program->kernels()) {
    EXPECT_FALSE(kernel.kernel.empty());
    if (kernel.op != "matmul") continue;
    found = true;
    EXPECT_EQ(kernel.scope, "dense_1");
    EXPECT_EQ(kernel.cost.flops, 2 * 4 * 5 * 6);
  }
  EXPECT_TRUE(found);
}

// A layer of padding is free: neither a kernel nor memory is spent on it.
TEST_P(ProgramTest, PadsInsideOfConvolutionsAndPooling) {
  auto network = [](Graph& graph, bool layers) {
    auto frame = [&](const Value& x, int64_t pad) {
      return layers ? ops::pad(x, {0, pad, pad, 0}, {0, pad, pad, 0}) : x;
    };
    auto inside = [&](int64_t pad) {
      return layers ? ops::Padding{} : ops::Padding{pad, pad, pad, pad};
    };
    Rng rng(3, 1);
    Variable stem("stem", draw({DType::float32, {7, 7, 3, 8}}, {}, rng)),
        w("w", draw({DType::float32, {3, 3, 8, 8}}, {}, rng));
    Value x = graph.input("x", {DType::float32, {2, 20, 20, 3}});
    x = ops::relu(ops::conv2d(frame(x, 3), stem, {.strides = {2, 2}, .padding = inside(3)}));
    x = ops::max_pool2d(frame(x, 1), {.window = {3, 3}, .strides = {2, 2}, .padding = inside(1)});
    x = ops::conv2d(frame(x, 1), w, {.strides = {2, 2}, .padding = inside(1)});
    Value loss = ops::mean(ops::square(x));
    graph.output(loss, "loss");
    for (const Value& gradient : gradients(loss, std::vector{stem, w}))
      graph.output(gradient, "gradient");
  };
  Graph with_layers, without;
  network(with_layers, true);
  network(without, false);
  auto one = compile(with_layers), other = compile(without);
  Rng rng(fresh_seed(), 2);
  std::vector<Tensor> batch = {draw(with_layers.spec(with_layers.inputs()[0].value), {}, rng)};
  one->run(batch);
  other->run(batch);
  bool rewrites = GetParam() != "reference";
  for (size_t i = 0; i < 3; ++i) {
    if (rewrites) {
      EXPECT_EQ(one->output(i), other->output(i)) << i;
    }
    double allowed = 1e-5 * (largest(other->output(i)) + 1);
    for (int64_t k = 0; k < other->output(i).elements(); ++k)
      ASSERT_NEAR(one->output(i).at(k), other->output(i).at(k), allowed);
  }
  if (!rewrites) return;
  EXPECT_EQ(one->kernels().size(), other->kernels().size());
  EXPECT_EQ(one->memory().total, other->memory().total);
}

TEST_P(ProgramTest, MemoryAddsUpToItsTotal) {
  GuardedStep step;
  auto program = compile(step.graph);
  const MemoryReport& memory = program->memory();
  size_t sum = 0;
  for (size_t bytes : memory.bytes) sum += bytes;
  EXPECT_EQ(sum, memory.total);
  EXPECT_GE(memory.bytes[size_t(MemoryCategory::weights)], 3 * sizeof(float));
  EXPECT_GE(memory.total, memory.arena);
}

TEST_P(ProgramTest, TwoProgramsAreBitIdentical) {
  auto train = [&] {
    GuardedStep step;
    auto program = compile(step.graph);
    std::vector<Tensor> seen;
    Rng rng(7);
    for (int i = 0; i < 4; ++i) {
      program->run(std::vector{draw(kVector, {}, rng)});
      seen.push_back(program->output(0));
      seen.push_back(step.w.read());
    }
    return seen;
  };
  EXPECT_EQ(train(), train());
}

TEST_P(ProgramTest, AScalarMayBeAnInteger) {
  Graph graph;
  graph.output(ops::argmax(graph.input("x", kVector), 0), "best");
  auto program = compile(graph);
  program->run(std::vector{vector(1, 5, 2)});
  EXPECT_EQ(program->scalar(0), 1);
  EXPECT_EQ(program->output(0).dtype(), DType::int64);
}

TEST_P(ProgramTest, InputsAndVariablesMayBeUnused) {
  Graph graph;
  Variable unused("unused", vector(1, 2, 3));
  graph.input("a", kVector);
  graph.output(graph.input("b", kVector) * 2.0, "y");
  graph.variable(unused);
  auto program = compile(graph);
  program->run(std::vector{vector(0, 0, 0), vector(1, 2, 3)});
  EXPECT_EQ(program->output(0), vector(2, 4, 6));
  EXPECT_EQ(unused.read(), vector(1, 2, 3));
}

// y = sum over `terms` of exp(x) * term: as many values alive at once as there are terms.
std::unique_ptr<Graph> wide_graph(int terms, int64_t size) {
  auto graph = std::make_unique<Graph>();
  Value x = graph->input("x", {DType::float32, {size}});
  Values parts;
  for (int term = 1; term <= terms; ++term) parts.push_back(ops::exp(x) * double(term));
  Value y = parts[0];
  for (int term = 1; term < terms; ++term) y = y + parts[size_t(term)];
  graph->output(y, "y");
  return graph;
}

TEST_P(ProgramTest, ProgramsCanShareAnArenaThatGrows) {
  CompileOptions options;
  options.arena = device().make_arena();
  auto small = device().compile(*wide_graph(2, 10), options);
  small->run(std::vector{Tensor::zeros({10})});
  auto large = device().compile(*wide_graph(5, 5000), options);
  for (int round = 0; round < 2; ++round) {
    large->run(std::vector{Tensor::zeros({5000})});
    EXPECT_EQ(large->output(0), Tensor::full({5000}, 15));
    small->run(std::vector{Tensor::zeros({10})});
    EXPECT_EQ(small->output(0), Tensor::full({10}, 3));
  }
}

TEST_P(ProgramTest, RunsAGraphWithoutNodes) {
  Graph graph;
  auto program = compile(graph);
  EXPECT_EQ(program->run({}), RunStatus::ok);
  EXPECT_TRUE(program->kernels().empty());
}

}  // namespace

}  // namespace stoker::test
