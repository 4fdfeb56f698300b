// The gradients of many slices of one value: their sum, and how much work it is.
#include <stoker/ops.h>

#include "engine/reference/reference_backend.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;

struct Slice {
  std::vector<int64_t> begin, size;
};

// d(Σ c_i · Σ slice_i²)/dx against the sum of the padded parts, with exact numbers.
void expect_right(const Shape& shape, const std::vector<Slice>& slices) {
  Graph graph;
  Value x = f32(graph, shape);
  Value loss, expected;
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto& [begin, size] = slices[i];
    Value part = ops::slice(x, begin, size);
    Value term = ops::sum(ops::square(part)) * double(i + 1);
    loss = i == 0 ? term : loss + term;
    std::vector<int64_t> after;
    for (int axis = 0; axis < shape.rank(); ++axis)
      after.push_back(shape[axis] - begin[size_t(axis)] - size[size_t(axis)]);
    Value alone = ops::pad(part * (2.0 * double(i + 1)), begin, after);
    expected = i == 0 ? alone : expected + alone;
  }
  graph.output(gradients(loss, {x})[0], "got");
  graph.output(expected, "expected");
  auto program = reference_backend().compile(graph, {});
  std::vector<float> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(float(i % 7 - 3));
  program->run(std::array{Tensor::from<float>(values, shape)});
  EXPECT_EQ(program->output(0), program->output(1));
}

TEST(SliceGradients, AddUpHoweverTheSlicesLie) {
  expect_right({6, 2}, {{{0, 0}, {2, 2}}, {{2, 0}, {2, 2}}, {{4, 0}, {2, 2}}});  // side by side
  expect_right({9, 2}, {{{1, 0}, {2, 2}}, {{6, 0}, {1, 2}}});                    // with holes
  expect_right({6, 2}, {{{0, 0}, {3, 2}}, {{2, 0}, {3, 2}}, {{4, 0}, {2, 2}}});  // overlapping
  expect_right({6, 4}, {{{0, 1}, {2, 2}}, {{3, 1}, {2, 2}}});  // a part of another axis
  expect_right({6, 4}, {{{0, 1}, {2, 2}}, {{3, 0}, {2, 2}}});  // along both
  expect_right({6, 4}, {{{0, 0}, {6, 4}}, {{3, 0}, {2, 4}}});  // the whole and a part
  expect_right({6, 4}, {{{3, 0}, {2, 4}}, {{3, 0}, {2, 4}}});  // twice the same
  expect_right({6, 4}, {{{4, 0}, {0, 4}}, {{3, 0}, {3, 4}}});  // an empty one
  expect_right({6, 4}, {{{3, 0}, {2, 4}}, {{4, 0}, {0, 4}}, {{0, 0}, {2, 4}}});
}

TEST(SliceGradients, OfDisjointSlicesAreOneConcat) {
  Graph graph;
  Value x = f32(graph, {4, 100, 3}), state = f32(graph, {4, 1, 3});
  for (int64_t t = 0; t < 100; ++t) state = ops::tanh(state + ops::slice(x, {0, t, 0}, {4, 1, 3}));
  gradients(ops::sum(state), {x});
  EXPECT_EQ(count(graph, "concat"), 1);
  EXPECT_EQ(count(graph, "pad"), 0);
}

TEST(SliceGradients, OfSlidingWindowsAreAsManyConcatsAsWindowsOverlap) {
  Graph graph;
  Value x = f32(graph, {50, 3});
  Value loss;
  for (int64_t t = 0; t + 3 <= 50; ++t) {
    Value term = ops::sum(ops::exp(ops::slice(x, {t, 0}, {3, 3})));
    loss = t == 0 ? term : loss + term;
  }
  gradients(loss, {x});
  EXPECT_EQ(count(graph, "concat"), 3);
}

}  // namespace stoker
