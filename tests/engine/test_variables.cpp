// A variable's contents live in one place at a time, and every program finds them there.
#include "engine/device_test.h"

#include <limits>

#include <stoker/ops.h>

#include "engine/reference/reference_backend.h"
#include "support/draw.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

// w <- w * factor
struct Scaling {
  Graph graph;
  explicit Scaling(Variable w, double factor) {
    graph.assign(w, Value(graph.variable(w)) * factor);
  }
};

Variable weights() { return {"w", Tensor::from<float>({1, 2, 3}, {3})}; }
std::vector<double> contents(const Variable& w) { return numbers(w.read()); }

TEST(Variables, MoveBetweenProgramsOfOneBackend) {
  Variable w = weights();
  Scaling twice(w, 2), thrice(w, 3);
  auto first = reference_backend().compile(twice.graph, {}),
       second = reference_backend().compile(thrice.graph, {});
  for (Program* program : {first.get(), second.get(), first.get()}) program->run({});
  EXPECT_EQ(contents(w), (std::vector<double>{12, 24, 36}));
}

TEST(Variables, StayWhereTheyWereUsedLast) {
  Variable w = weights();
  EXPECT_EQ(w.residence(), nullptr);
  Scaling twice(w, 2);
  auto program = reference_backend().compile(twice.graph, {});
  program->run({});
  auto residence = w.residence();
  ASSERT_NE(residence, nullptr);
  program->run({});
  EXPECT_EQ(w.residence(), residence) << "a second run has nothing to move";
}

TEST(Variables, KeepTheirContentsWhenTheProgramIsGone) {
  Variable w = weights();
  {
    Scaling twice(w, 2);
    reference_backend().compile(twice.graph, {})->run({});
  }
  EXPECT_EQ(contents(w), (std::vector<double>{2, 4, 6}));
}

// The exact reference keeps more bits than the dtype has; another backend must not see them.
TEST(Variables, AreRoundedWhenTheyLeaveTheExactReference) {
  Variable w("w", Tensor(1.0F));
  Scaling third(w, 1.0 / 3), thrice(w, 3);
  exact_reference().compile(third.graph, {})->run({});
  EXPECT_EQ(w.read().item(), double(1.0F / 3.0F));
  reference_backend().compile(thrice.graph, {})->run({});
  EXPECT_EQ(w.read().item(), double(float(3.0 * double(1.0F / 3.0F))));
}

class VariablesOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, VariablesOn, ::testing::ValuesIn(device_names()), device_name);

TEST_P(VariablesOn, AreTakenBackFromAnotherBackend) {
  Variable w = weights();
  Scaling twice(w, 2), thrice(w, 3);
  auto here = device().compile(twice.graph, {});
  auto there = exact_reference().compile(thrice.graph, {});
  here->run({});
  EXPECT_EQ(contents(w), (std::vector<double>{2, 4, 6}));
  there->run({});
  EXPECT_EQ(contents(w), (std::vector<double>{6, 12, 18}));
  here->run({});
  here->run({});
  EXPECT_EQ(contents(w), (std::vector<double>{24, 48, 72}));
  there->run({});
  EXPECT_EQ(contents(w), (std::vector<double>{72, 144, 216}));
}

TEST_P(VariablesOn, CanBeWrittenWhileABackendHoldsThem) {
  Variable w = weights();
  Scaling twice(w, 2), thrice(w, 3);
  auto here = device().compile(twice.graph, {});
  auto there = exact_reference().compile(thrice.graph, {});
  here->run({});
  w.write(Tensor::from<float>({5, 6, 7}, {3}));
  there->run({});
  w.write(Tensor::from<float>({1, 1, 2}, {3}));
  here->run({});
  EXPECT_EQ(contents(w), (std::vector<double>{2, 2, 4}));
}

TEST_P(VariablesOn, KeepEveryBitOfASeed) {
  constexpr int64_t kSeed = std::numeric_limits<int64_t>::max() - 12345;
  Variable state("state", Tensor::from<int64_t>({kSeed, 0}, {2}));
  Graph graph;
  graph.assign(state, graph.variable(state) + graph.constant(Tensor::from<int64_t>({0, 1}, {2})));
  auto program = device().compile(graph, {});
  program->run({});
  program->run({});
  EXPECT_EQ(state.read(), Tensor::from<int64_t>({kSeed, 2}, {2}));
}

// A convolution's kernel may be kept in a blocked layout; its contents are read in row-major order.
TEST_P(VariablesOn, AreReadInRowMajorOrderWhateverTheLayout) {
  Rng rng(3);
  Tensor initial = draw({DType::float32, {3, 3, 3, 30}}, {}, rng);
  Variable kernel("kernel", initial);
  Graph graph;
  Value x = graph.input("x", {DType::float32, {2, 9, 9, 3}});
  Value y = ops::conv2d(x, graph.variable(kernel));
  graph.output(ops::sum(y * y), "loss");
  auto program = device().compile(graph, {});
  program->run(std::vector{draw({DType::float32, {2, 9, 9, 3}}, {}, rng)});
  EXPECT_EQ(kernel.read(), initial);
  Tensor other = draw({DType::float32, {3, 3, 3, 30}}, {}, rng);
  kernel.write(other);
  EXPECT_EQ(kernel.read(), other);
}

TEST_P(VariablesOn, OfEveryDtypeAreKept) {
  for (DType dtype : {DType::float32, DType::int32, DType::int64, DType::uint8, DType::bool_}) {
    Rng rng(5);
    Tensor initial = draw({dtype, {7}}, {0, 100}, rng);
    Variable variable("v", initial);
    Graph graph;
    graph.output(graph.variable(variable), "v");
    auto program = device().compile(graph, {});
    program->run({});
    EXPECT_EQ(program->output(0), initial) << name(dtype);
    EXPECT_EQ(variable.read(), initial) << name(dtype);
  }
}

}  // namespace

}  // namespace stoker::test
