// What operands of different dtypes become when they meet: numbers, integers, sixteen bits.
#include <stoker/ops.h>

#include "graph/sketch.h"
#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;

namespace {

Value input(Graph& graph, DType dtype, const Shape& shape = {3}) {
  return graph.input("x", {dtype, shape});
}

// The constant that the last node of the graph reads.
const Tensor& last_constant(const Graph& graph) { return graph.constants().back().tensor; }

TEST(Numbers, OfEveryCppTypeTakeTheDtypeOfAFloatTensor) {
  for (DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    Graph graph;
    Value x = input(graph, dtype);
    for (const Value& y :
         {x * 0.125, x * 0.125F, 2 * x, 1.0 - x, x / int64_t(3), x + true, x - 7U, size_t(2) * x,
          ops::maximum(x, 0.F), ops::pow(x, 2), ops::minimum(6, x), ops::clip(x, 0, 1),
          ops::where(ops::greater(x, 0.5F), x, 0), ops::where(ops::less(x, 1), -1.0, x)})
      EXPECT_EQ(y.dtype(), dtype);
  }
}

TEST(Numbers, ThatAnIntegerDtypeCannotHoldWidenIt) {
  Graph graph;
  Value byte = input(graph, DType::uint8), n = input(graph, DType::int32);
  ops::greater(byte, 100);
  EXPECT_EQ(last_constant(graph), Tensor::from<uint8_t>({100}, {}));
  ops::greater(byte, 300);
  EXPECT_EQ(last_constant(graph), Tensor::from<int32_t>({300}, {}));
  ops::greater(byte, -1);
  EXPECT_EQ(last_constant(graph), Tensor::from<int32_t>({-1}, {}));
  EXPECT_EQ((n + 3'000'000'000).dtype(), DType::int64);
  EXPECT_EQ(ops::where(ops::less(n, 3), byte, -1).dtype(), DType::int32);
  EXPECT_EQ((n * 1e20).dtype(), DType::float32);
}

TEST(Numbers, BeyondDoublesWholeNumbersStayExact) {
  Graph graph;
  ops::equal(i64(graph, {3}), int64_t(9'007'199'254'740'993));
  EXPECT_EQ(last_constant(graph), Tensor::from<int64_t>({9'007'199'254'740'993}, {}));
}

TEST(Numbers, ThatFloat16CannotHoldAreMetInFloat32) {
  Graph graph;
  Value half = input(graph, DType::float16), brain = input(graph, DType::bfloat16);
  EXPECT_EQ((half * -1e9).dtype(), DType::float32) << "-inf, and 0 · -inf is NaN";
  EXPECT_EQ((half + 1e-12).dtype(), DType::float32) << "0, and a division by it";
  EXPECT_EQ((half + Value(Tensor::from({0.0, -1e9, 0.0}, {3}))).dtype(), DType::float32);
  EXPECT_EQ((half + Value(Tensor::from({0.0, -1e4, 0.0}, {3}))).dtype(), DType::float16);
  EXPECT_EQ((brain * -1e9).dtype(), DType::bfloat16);
}

TEST(Integers, DivideToAFloat) {
  Graph graph;
  Value n = input(graph, DType::int32), byte = input(graph, DType::uint8);
  for (const Value& y : {n / n, n / 2, 1 / n, byte / 255, byte / 255.0, byte / n, n / 0.5})
    EXPECT_EQ(y.dtype(), DType::float32);
}

TEST(Integers, ShorterThanInt32AreComputedInIt) {
  Graph graph;
  Value byte = input(graph, DType::uint8), mask = input(graph, DType::bool_);
  for (const Value& y : {byte - 128, byte * byte, -byte, mask + mask, 1 - mask, byte * mask,
                         ops::maximum(byte, input(graph, DType::int16)), ops::sum(mask)})
    EXPECT_EQ(y.dtype(), DType::int32);
  EXPECT_EQ(ops::mean(mask).dtype(), DType::float32);
}

TEST(Integers, AreNotPaddedWithWhatTheyCannotHold) {
  Graph graph;
  Value byte = input(graph, DType::uint8);
  EXPECT_EQ(ops::pad(byte, {1}, {0}, 255).dtype(), DType::uint8);
  EXPECT_THAT(error_of<ValueError>([&] { ops::pad(byte, {1}, {0}, 300); }), HasSubstr("300"));
}

TEST(Integers, TakeTheDtypeOfTheFloatsTheyMeet) {
  Graph graph;
  Value half = input(graph, DType::float16), n = i64(graph, {3}), x = f32(graph, {3});
  EXPECT_EQ((n * half).dtype(), DType::float16);
  EXPECT_EQ((x - input(graph, DType::bool_)).dtype(), DType::float32);
  EXPECT_EQ((n + input(graph, DType::int32)).dtype(), DType::int64);
  EXPECT_EQ(ops::equal(n, x).dtype(), DType::bool_);
  EXPECT_EQ(ops::concatenate({n, x}).dtype(), DType::float32);
}

TEST(SixteenBits, MeetFloat32ResultsInFloat32AndWeightsInSixteenBits) {
  for (DType compute : {DType::float32, DType::float16, DType::bfloat16})
    for (DType dtype : {DType::float16, DType::bfloat16}) {
      Graph graph;
      graph.set_compute_dtype(compute);
      Value x = input(graph, dtype), wide = f32(graph, {3});
      EXPECT_EQ((x + wide).dtype(), DType::float32);
      EXPECT_EQ((x + weight("w", {3})).dtype(), dtype);
      EXPECT_EQ((Tensor::zeros({3}) * x).dtype(), dtype);
      EXPECT_EQ(ops::concatenate({x, wide}).dtype(), DType::float32);
      EXPECT_EQ(ops::where(ops::less(x, wide), x, wide).dtype(), DType::float32);
    }
  Graph graph;
  EXPECT_EQ((input(graph, DType::float16) + input(graph, DType::bfloat16)).dtype(), DType::float32);
}

TEST(SixteenBits, MeetFloat32InProductsAndNormalisations) {
  Graph graph;
  Value x = input(graph, DType::bfloat16, {2, 4}), scale = input(graph, DType::bfloat16, {4});
  EXPECT_EQ(ops::matmul(x, weight("w", {4, 3})).dtype(), DType::bfloat16);
  EXPECT_EQ(ops::matmul(x, f32(graph, {4, 3})).dtype(), DType::float32);
  EXPECT_EQ(ops::layer_norm(x, scale, weight("beta", {4})).dtype(), DType::bfloat16);
  EXPECT_EQ(ops::batch_norm(x, scale, scale).y.dtype(), DType::bfloat16);
}

TEST(Sketches, MeetSixteenBitsWhenTheyAreReplayed) {
  Value x = sketch_input("x", {DType::float32, {4}});
  Value y = (x * 0.125F + Tensor::full({4}, 2)) * -1e9 + ops::cast(x, DType::float32);
  Value z = x * 0.125F + Tensor::full({4}, 2);
  for (DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    Graph graph;
    Value real = input(graph, dtype, {2, 4});
    Values replayed = replay(graph, {x}, {real}, {y, z});
    EXPECT_EQ(replayed[0].dtype(), DType::float32) << graph.dump();
    EXPECT_EQ(replayed[1].dtype(), dtype) << graph.dump();
  }
}

TEST(Sketches, OfIntegersAdaptToo) {
  Value picture = sketch_input("picture", {DType::uint8, {4}});
  EXPECT_EQ((picture / 255).dtype(), DType::float32);
  EXPECT_EQ((picture * 0.5).dtype(), DType::float32);
  EXPECT_EQ((picture - 128).dtype(), DType::int32);
  EXPECT_EQ((picture / Value(Tensor::full({4}, 255))).dtype(), DType::float32);
  Graph graph;
  Value real = input(graph, DType::uint8, {2, 4});
  EXPECT_EQ(replay(graph, {picture}, {real}, {picture / 255})[0].dtype(), DType::float32);
}

TEST(Gradients, FlowThroughNumbersAndMixedDtypes) {
  Graph graph;
  Value x = input(graph, DType::float16), wide = f32(graph, {3});
  Value loss = ops::sum((x * 0.125 + 1e-12) * wide / input(graph, DType::int32));
  Values slopes = gradients(loss, {x, wide});
  EXPECT_EQ(slopes[0].dtype(), DType::float16);
  EXPECT_EQ(slopes[1].dtype(), DType::float32);
}

}  // namespace

}  // namespace stoker
