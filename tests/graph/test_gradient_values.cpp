// Gradients at the corners where a plain formula would give NaN or the wrong share.
#include <stoker/ops.h>

#include "engine/reference/reference_backend.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;

// d(sum of f(x)) / dx at the given values.
template <class Function>
std::vector<double> gradient_at(std::initializer_list<float> values, Function&& f) {
  Graph graph;
  Tensor at = Tensor::from<float>(values, {int64_t(values.size())});
  Value x = f32(graph, at.shape());
  graph.output(gradients(f(x), {x})[0], "dx");
  auto program = reference_backend().compile(graph, {});
  program->run(std::array{at});
  Tensor gradient = program->output(0);
  std::vector<double> numbers;
  for (int64_t i = 0; i < gradient.elements(); ++i) numbers.push_back(gradient.at(i));
  return numbers;
}

using Numbers = std::vector<double>;

TEST(GradientOfAProduct, IsThatOfTheOtherFactors) {
  auto product = [](const Value& x) { return ops::prod(x); };
  EXPECT_EQ(gradient_at({2, 3, 4}, product), Numbers({12, 8, 6}));
}

TEST(GradientOfAProduct, GoesToTheOnlyZero) {
  auto product = [](const Value& x) { return ops::prod(x); };
  EXPECT_EQ(gradient_at({2, 0, 4}, product), Numbers({0, 8, 0}));
  EXPECT_EQ(gradient_at({2, 0, 0}, product), Numbers({0, 0, 0}));
}

TEST(GradientOfAMaximum, IsSharedByEqualElements) {
  EXPECT_EQ(gradient_at({1, 3, 3, 2}, [](const Value& x) { return ops::max(x); }),
            Numbers({0, 0.5, 0.5, 0}));
  EXPECT_EQ(gradient_at({1, 3, 1, 2}, [](const Value& x) { return ops::min(x); }),
            Numbers({0.5, 0, 0.5, 0}));
}

TEST(GradientOfAMaximum, OfTwoGoesToTheFirstOfEquals) {
  EXPECT_EQ(gradient_at({1, 2, 3}, [](const Value& x) { return ops::maximum(x, 2.0); }),
            Numbers({0, 1, 1}));
  EXPECT_EQ(gradient_at({1, 2, 3}, [](const Value& x) { return ops::maximum(2.0, x); }),
            Numbers({0, 0, 1}));
}

TEST(GradientOfAPower, IsFiniteAtZero) {
  EXPECT_EQ(gradient_at({0, 2}, [](const Value& x) { return ops::pow(x, 2.0); }), Numbers({0, 4}));
  EXPECT_EQ(gradient_at({0, 2}, [](const Value& x) { return ops::pow(x, 0.0); }), Numbers({0, 0}));
}

TEST(GradientOfAnExponent, IsZeroForABaseThatIsNotPositive) {
  Value base = Tensor::from<float>({0, -2, 1}, {3});
  EXPECT_EQ(gradient_at({3, 3, 3}, [&](const Value& x) { return ops::pow(base, x); }),
            Numbers({0, 0, 0}));
}

TEST(GradientOfASelection, GoesWhereTheConditionSays) {
  auto selection = [](const Value& x) { return ops::where(ops::less(x, 2.0), x * 3.0, x * 5.0); };
  EXPECT_EQ(gradient_at({1, 2, 3}, selection), Numbers({3, 5, 5}));
}

TEST(GradientOfASlice, IsZeroOutside) {
  EXPECT_EQ(gradient_at({1, 2, 3, 4}, [](const Value& x) { return ops::slice(x, {1}, {2}); }),
            Numbers({0, 1, 1, 0}));
}

}  // namespace stoker
