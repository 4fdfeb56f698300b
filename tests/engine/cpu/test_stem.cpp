// conv2d + bias + relu + max_pool2d on few channels, which the CPU engine runs as one instruction.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "engine/backend.h"
#include "support/draw.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

struct StemCase {
  Shape x;
  int64_t filters = 16;
  int64_t kernel = 3;
  int64_t stride = 1;
  ops::Padding padding = {};
};

void PrintTo(const StemCase& one, std::ostream* out) {
  *out << to_string(one.x) << " to " << one.filters << ", " << one.kernel << "x" << one.kernel;
}

// The pooled image and, if it trains, the gradients of kernel and bias.
struct StemGraph {
  Graph graph;
  std::vector<Tensor> inputs;

  StemGraph(const StemCase& one, bool training) {
    Rng rng = named_rng(fresh_seed(), "stem");
    Value x = input({DType::float32, one.x}, rng);
    Value w = input({DType::float32, {one.kernel, one.kernel, one.x[3], one.filters}}, rng);
    Value bias = input({DType::float32, {one.filters}}, rng);
    Value y = ops::max_pool2d(ops::relu(
        ops::conv2d(x, w, {.strides = {one.stride, one.stride}, .padding = one.padding}) + bias));
    graph.output(y, "y");
    if (!training) return;
    // Weighted, so that every pooled pixel has a gradient of its own.
    Value loss = ops::sum(y * input(y.spec(), rng));
    Values found = gradients(loss, Values{w, bias});
    graph.output(found[0], "dw");
    graph.output(found[1], "db");
  }

  Value input(const TensorSpec& spec, Rng& rng) {
    inputs.push_back(draw(spec, {}, rng));
    return graph.input(fmt::format("input_{}", inputs.size()), spec);
  }
};

bool runs_as_stem(const Program& program) {
  return std::ranges::any_of(program.kernels(), [](const KernelInfo& kernel) {
    return kernel.kernel.find("stem") != std::string::npos;
  });
}

// As for the separate ops: 8 · eps · sqrt(n) · (the largest sum of absolute products).
double tolerance(const Tensor& expected, double products) {
  double largest = 0;
  for (double value : numbers(expected)) largest = std::max(largest, std::abs(value));
  return 8 * 0x1p-23 * products * std::max(largest, 1.0);
}

void expect_close(const Tensor& actual, const Tensor& expected, double products) {
  std::vector<double> a = numbers(actual), b = numbers(expected);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance(expected, products)) << "element " << i;
}

class Stem : public ::testing::TestWithParam<StemCase> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
};

TEST_P(Stem, TrainsAsItsOpsDo) {
  StemGraph stem(GetParam(), true);
  auto program = backend("cpu").compile(stem.graph, {});
  auto reference = backend("reference").compile(stem.graph, {});
  EXPECT_TRUE(runs_as_stem(*program));
  program->run(stem.inputs);
  reference->run(stem.inputs);
  double products = double(program->output(0).elements()) / double(GetParam().filters);
  for (size_t i = 0; i < 3; ++i)
    expect_close(program->output(i), reference->output(i), std::sqrt(products));
}

TEST_P(Stem, PredictsAsItsOpsDo) {
  StemGraph stem(GetParam(), false);
  auto program = backend("cpu").compile(stem.graph, {});
  auto reference = backend("reference").compile(stem.graph, {});
  EXPECT_TRUE(runs_as_stem(*program));
  program->run(stem.inputs);
  reference->run(stem.inputs);
  expect_close(program->output(0), reference->output(0),
               double(GetParam().kernel * GetParam().x[3]));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Stem,
    ::testing::Values(
        StemCase{.x = {3, 14, 14, 1}, .filters = 64}, StemCase{.x = {2, 9, 11, 1}, .filters = 48},
        StemCase{.x = {5, 8, 8, 3}, .filters = 32, .padding = {1, 1, 1, 1}},
        StemCase{.x = {1, 12, 7, 4}, .filters = 16, .kernel = 5, .padding = {0, 1, 2, 3}},
        StemCase{
            .x = {2, 21, 20, 3}, .filters = 16, .kernel = 7, .stride = 2, .padding = {3, 3, 3, 3}},
        StemCase{.x = {2, 2, 2, 2}, .filters = 16, .kernel = 1}));

// --- what is no stem ---

TEST(StemPattern, IsLeftAloneWhenSomebodyReadsTheUnpooledImage) {
  Graph graph;
  TensorSpec spec{DType::float32, {2, 8, 8, 1}};
  Variable w("w", Tensor::full({3, 3, 1, 16}, 0.1)), bias("b", Tensor::zeros({16}));
  Value y = ops::relu(ops::conv2d(graph.input("x", spec), w) + Value(bias));
  graph.output(ops::max_pool2d(y), "pooled");
  graph.output(y, "unpooled");
  auto program = backend("cpu").compile(graph, {});
  EXPECT_FALSE(runs_as_stem(*program));
  program->run(std::vector{Tensor::full(spec.shape, 1)});
  EXPECT_NEAR(program->output(1).at(0), 0.9, 1e-6);
}

TEST(StemPattern, IsLeftAloneWhenTwoPoolingsReadTheImage) {
  Graph graph;
  TensorSpec spec{DType::float32, {2, 9, 9, 1}};
  Variable w("w", Tensor::full({3, 3, 1, 16}, 0.1)), bias("b", Tensor::zeros({16}));
  Value y = ops::relu(ops::conv2d(graph.input("x", spec), w) + Value(bias));
  graph.output(ops::max_pool2d(y), "pooled");
  graph.output(ops::max_pool2d(y, {.window = {3, 3}}), "pooled by three");
  auto program = backend("cpu").compile(graph, {});
  EXPECT_FALSE(runs_as_stem(*program));
  program->run(std::vector{Tensor::full(spec.shape, 1)});
  EXPECT_NEAR(program->output(0).at(0), 0.9, 1e-6);
  EXPECT_NEAR(program->output(1).at(0), 0.9, 1e-6);
}

TEST(StemPattern, IsLeftAloneWhenTheImageNeedsAGradient) {
  Graph graph;
  TensorSpec spec{DType::float32, {2, 8, 8, 1}};
  Variable w("w", Tensor::full({3, 3, 1, 16}, 0.1)), bias("b", Tensor::zeros({16}));
  Value x = graph.input("x", spec);
  Value loss = ops::sum(ops::max_pool2d(ops::relu(ops::conv2d(x, w) + Value(bias))));
  Values found = gradients(loss, Values{x, w});
  graph.output(found[0], "dx");
  graph.output(found[1], "dw");
  auto program = backend("cpu").compile(graph, {});
  auto reference = backend("reference").compile(graph, {});
  EXPECT_FALSE(runs_as_stem(*program));
  std::vector<Tensor> inputs = {Tensor::full(spec.shape, 1)};
  program->run(inputs);
  reference->run(inputs);
  for (size_t i = 0; i < 2; ++i) expect_close(program->output(i), reference->output(i), 8);
}

TEST(StemPattern, ANonFiniteImageIsNamedAsThePool) {
  Graph graph;
  TensorSpec spec{DType::float32, {1, 8, 8, 1}};
  Variable w("w", Tensor::full({3, 3, 1, 16}, 1e38)), bias("b", Tensor::zeros({16}));
  Value x = graph.input("x", spec);
  graph.output(ops::max_pool2d(ops::relu(ops::conv2d(x, w) + Value(bias))), "y");
  auto program = backend("cpu").compile(graph, {});
  auto found = program->find_non_finite(std::vector{Tensor::full(spec.shape, 10)});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->op, "max_pool2d");
}

}  // namespace

}  // namespace stoker::test
