// Values: scalars, variables and constants joining a graph, and what cannot be joined.
#include <stoker/ops.h>

#include "graph/sketch.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;

TEST(Scalar, TakesTheDtypeOfWhatItMeets) {
  Graph graph;
  Value half = graph.input("half", {DType::float16, {3}}), n = i64(graph, {3});
  EXPECT_EQ((half * 2.0).dtype(), DType::float16);
  EXPECT_EQ((1.0 - n).dtype(), DType::int64);
  EXPECT_EQ(ops::equal(n, 2.0).dtype(), DType::bool_);
  EXPECT_EQ(ops::where(ops::equal(n, 2.0), half, 0.0).dtype(), DType::float16);
  EXPECT_EQ(ops::where(ops::equal(n, 2.0), 1.0, 0.0).dtype(), DType::float32);
}

TEST(Scalar, IsNotCutToMeetIntegers) {
  Graph graph;
  Value n = i64(graph, {3});
  EXPECT_EQ((n * 0.5).dtype(), DType::float32);
  EXPECT_EQ((n * 2.0).dtype(), DType::int64);
  EXPECT_EQ(ops::less(n, 0.5).dtype(), DType::bool_);
  EXPECT_EQ(ops::where(ops::less(n, 0), 0.5, n).dtype(), DType::float32);
}

TEST(Scalar, IsKeptOnceHoweverOftenItIsUsed) {
  Graph graph;
  Value x = f32(graph, {3});
  x = x * 2.0 + 2.0;
  x = x * 2.0 + 3.0;
  EXPECT_EQ(graph.constants().size(), 2U);
}

TEST(Value, KeepsItsShapeInPlaceWhileTheGraphGrows) {
  Graph graph;
  Value x = f32(graph, {3, 4});
  const Shape& shape = x.shape();
  for (int i = 0; i < 1000; ++i) x = x + 1.0;
  EXPECT_EQ(shape, Shape({3, 4}));
}

TEST(Value, NegatesIntegersToo) {
  Graph graph;
  EXPECT_EQ((-i64(graph, {3})).dtype(), DType::int64);
  EXPECT_EQ((-f32(graph, {3})).dtype(), DType::float32);
}

TEST(Value, IsTheSameOnlyAsItself) {
  Graph graph;
  Value x = f32(graph, {3}), y = f32(graph, {3});
  Variable w = weight("w", {3}), v = weight("w", {3});
  EXPECT_TRUE(same(x, x));
  EXPECT_FALSE(same(x, y));
  EXPECT_TRUE(same(Value(w), Value(w)));
  EXPECT_FALSE(same(Value(w), Value(v)));
  EXPECT_FALSE(same(Value(), Value()));
}

TEST(Value, WithoutContentsHasNoShape) {
  EXPECT_THAT(error_of<Error>([] { Value().shape(); }), HasSubstr("undefined"));
  Graph graph;
  EXPECT_THAT(error_of<Error>([&] { f32(graph, {3}) + Value(); }),
              HasSubstr("input 1 is an undefined Value"));
}

TEST(Values, AreIndexedAlongTheirFirstAxis) {
  Graph graph;
  Value x = f32(graph, {3, 4});
  EXPECT_EQ(x[0].shape(), Shape{4});
  EXPECT_EQ(x[-3].shape(), Shape{4});
  EXPECT_THAT(error_of<ShapeError>([&] { x[3]; }), HasSubstr("[3, 4] has 3 entries"));
  EXPECT_THAT(error_of<ShapeError>([&] { x[-4]; }), HasSubstr("[-4]"));
  EXPECT_THAT(error_of<ShapeError>([&] { f32(graph, {})[0]; }), HasSubstr("scalar"));
  Value input = sketch_input("image", {DType::float32, {3}});
  EXPECT_THAT(error_of<ShapeError>([&] { input[0]; }), HasSubstr("ops::take(x, 0, 1)"));
}

TEST(Values, CompareElementwise) {
  Graph graph;
  Value x = f32(graph, {3});
  for (const Value& each : {x<1.0, x <= x, 1.0> x, x >= Value(2)}) {
    EXPECT_EQ(each.dtype(), DType::bool_);
    EXPECT_EQ(each.shape(), Shape{3});
  }
}

TEST(Values, AreUpdatedInPlaceAsPythonDoes) {
  Graph graph;
  Value x = f32(graph, {3}), sum = 0.0;
  sum += x;
  sum *= 2.0;
  sum -= x;
  sum /= x;
  EXPECT_EQ(sum.shape(), Shape{3});
}

TEST(Transpose, ReversesAxesUnlessToldOtherwise) {
  Graph graph;
  EXPECT_EQ(ops::transpose(f32(graph, {2, 3, 4})).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(ops::transpose(f32(graph, {})).shape(), Shape());
}

TEST(Variables, JoinAGraphOnce) {
  Graph graph;
  Variable w = weight("w", {3});
  Value x = f32(graph, {3}) * w + w;
  EXPECT_EQ(graph.variables().size(), 1U);
  EXPECT_TRUE(same(graph.variable(w), graph.variable(w)));
}

TEST(Variables, AloneJoinTheGraphWhoseScopeIsOpen) {
  Graph outer, inner;
  Variable w = weight("w", {3});
  Graph::Scope outer_scope(outer, "penalty");
  {
    Graph::Scope inner_scope(inner, "norm");
    EXPECT_EQ(ops::square(w).traced()->graph, &inner);
  }
  EXPECT_EQ(ops::square(w).traced()->graph, &outer);
}

TEST(Variables, AloneWithoutAGraphSayWhereToUseThem) {
  EXPECT_EQ(Graph::current(), nullptr);
  EXPECT_THAT(
      error_of<Error>([] { ops::square(weight("w", {3})); }),
      HasSubstr("unary: none of its inputs belongs to a graph; call it inside Layer::call"));
}

TEST(Values, OfTwoGraphsDoNotMix) {
  Graph a, b;
  EXPECT_THAT(error_of<Error>([&] { f32(a, {3}) + f32(b, {3}); }),
              HasSubstr("two different graphs"));
}

TEST(Values, OfAStepAndAModelDoNotMix) {
  Graph graph;
  Value input = sketch_input("image", {DType::float32, {3}});
  EXPECT_THAT(error_of<Error>([&] { f32(graph, {3}) + input; }), HasSubstr("functional model"));
}

TEST(Variable, HoldsACopyOfWhatIsWritten) {
  Variable w("w", Tensor::zeros({2}));
  w.write(Tensor::from<float>({1, 2}, {2}));
  EXPECT_EQ(w.read().at(1), 2);
  EXPECT_THAT(error_of([&] { w.write(Tensor::zeros({3})); }),
              HasSubstr("variable \"w\" holds float32[2], cannot take float32[3]"));
  EXPECT_THAT(error_of<ValueError>([] { Variable("w", Tensor()); }), HasSubstr("initial value"));
}

TEST(Variable, IsSharedByItsCopies) {
  Variable w = weight("w", {2}), copy = w;
  copy.write(Tensor::full({2}, 3));
  copy.rename("renamed");
  EXPECT_EQ(w.read().at(0), 3);
  EXPECT_EQ(w.name(), "renamed");
  EXPECT_EQ(w, copy);
  EXPECT_FALSE(w == weight("renamed", {2}));
}

class FakeResidence : public Residence {
 public:
  explicit FakeResidence(Tensor held) : held_(std::move(held)) {}
  Tensor read() const override { return held_.clone(); }
  void write(const Tensor& value) override { held_ = value.clone(); }

 private:
  Tensor held_;
};

TEST(Variable, LivesWhereItWasMovedTo) {
  Variable w = weight("w", {2});
  w.move_to(std::make_shared<FakeResidence>(Tensor::full({2}, 5)));
  EXPECT_EQ(w.read().at(0), 5);
  w.write(Tensor::full({2}, 7));
  EXPECT_EQ(w.residence()->read().at(0), 7);
  w.move_to(nullptr);
  EXPECT_EQ(w.residence(), nullptr);
  EXPECT_EQ(w.read().at(0), 7);
}

TEST(Attrs, CompareReplaceAndPrint) {
  Attrs attrs = {{"strides", Ints{1, 2}}, {"rate", 0.5}, {"fn", "relu"}, {"on", true}};
  EXPECT_EQ(to_string(attrs), "{strides: [1, 2], rate: 0.5, fn: relu, on: true}");
  Attrs other = attrs;
  EXPECT_EQ(attrs, other);
  other.set("rate", 0.25);
  EXPECT_NE(attrs, other);
  EXPECT_EQ(other.get<double>("rate"), 0.25);
  EXPECT_EQ(other.get_or<int64_t>("groups", 1), 1);
}

TEST(Attrs, NameWhatIsMissingOrOfAnotherType) {
  Attrs attrs = {{"rate", 0.5}};
  EXPECT_THAT(error_of<Error>([&] { attrs.get<int64_t>("depth"); }),
              HasSubstr("\"depth\" is missing from {rate: 0.5}"));
  EXPECT_THAT(error_of<Error>([&] { attrs.get<int64_t>("rate"); }), HasSubstr("\"rate\""));
}

}  // namespace stoker
