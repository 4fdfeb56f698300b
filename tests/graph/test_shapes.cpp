// Shape rules: what ops give, and what they say when they cannot.
#include <stoker/ops.h>

#include "graph/tracing.h"

namespace stoker {

using namespace test;
using testing::HasSubstr;
using testing::StartsWith;

TEST(BinaryOps, Broadcast) {
  Graph graph;
  Value x = f32(graph, {8, 1, 3}), y = f32(graph, {5, 3});
  EXPECT_EQ((x + y).shape(), Shape({8, 5, 3}));
  EXPECT_EQ((x * 2.0).shape(), x.shape());
  EXPECT_EQ((Value(Tensor(1.0F)) - x).shape(), x.shape());
}

TEST(BinaryOps, SayWhichShapesDoNotBroadcast) {
  Graph graph;
  Value x = f32(graph, {8, 4}), y = f32(graph, {8, 3});
  std::string error = error_of([&] { x + y; });
  EXPECT_THAT(error, StartsWith("binary: "));
  EXPECT_THAT(error, HasSubstr("[8, 4] and [8, 3] do not broadcast"));
  EXPECT_THAT(error, HasSubstr("(inputs: float32[8, 4], float32[8, 3])"));
}

TEST(BinaryOps, DoNotMixNumbersAndBytes) {
  Graph graph;
  Value x = f32(graph, {4}), n = i64(graph, {4});
  Value text = graph.input("text", {DType::bytes, {4}});
  EXPECT_THAT(error_of([&] { x + text; }), HasSubstr("bytes"));
  EXPECT_THAT(error_of([&] { text * 2; }), HasSubstr("bytes"));
  EXPECT_THAT(error_of([&] { ops::pow(n, n); }), HasSubstr("float"));
}

TEST(UnaryOps, AreForFloats) {
  Graph graph;
  EXPECT_THAT(error_of([&] { ops::exp(i64(graph, {4})); }),
              HasSubstr("got int64; ops::cast converts it"));
}

TEST(Clip, RefusesBoundsTheWrongWayRound) {
  Graph graph;
  EXPECT_THAT(error_of<ValueError>([&] { ops::clip(f32(graph, {4}), 2, 1); }), HasSubstr("2"));
}

TEST(Comparisons, GiveBools) {
  Graph graph;
  Value x = f32(graph, {4, 1});
  EXPECT_EQ(ops::less(x, 0.5).spec(), (TensorSpec{DType::bool_, {4, 1}}));
  EXPECT_EQ(ops::where(ops::less(x, 0.5), x, 0.0).spec(), x.spec());
  EXPECT_EQ(ops::where(ops::less(x, 0.5), 1.0, 0.0).spec(), x.spec());
  EXPECT_THAT(error_of([&] { ops::where(x, x, x); }), HasSubstr("bool"));
}

TEST(Reductions, KeepOrDropTheirAxes) {
  Graph graph;
  Value x = f32(graph, {2, 3, 4});
  EXPECT_EQ(ops::sum(x).shape(), Shape({}));
  EXPECT_EQ(ops::mean(x, {.axes = {-1, 0}}).shape(), Shape({3}));
  EXPECT_EQ(ops::max(x, {.axes = {1}, .keepdims = true}).shape(), Shape({2, 1, 4}));
  EXPECT_EQ(ops::argmax(x).spec(), (TensorSpec{DType::int64, {2, 3}}));
}

TEST(Reductions, RefuseAxesThatDoNotExistOrRepeat) {
  Graph graph;
  Value x = f32(graph, {2, 3});
  EXPECT_THAT(error_of([&] { ops::sum(x, {.axes = {2}}); }),
              HasSubstr("sum: axis 2 does not exist"));
  EXPECT_THAT(error_of([&] { ops::sum(x, {.axes = {1, -1}}); }), HasSubstr("twice"));
}

TEST(Reductions, OfIntegersHaveAFloat32Mean) {
  Graph graph;
  EXPECT_EQ(ops::mean(i64(graph, {3})).dtype(), DType::float32);
  EXPECT_EQ(ops::sum(i64(graph, {3})).dtype(), DType::int64);
}

TEST(Reshape, FillsInSeveralWhereOnlyOnesComeOrGo) {
  Graph graph;
  EXPECT_EQ(ops::reshape(f32(graph, {6, 4, 3}), {-1, 1, -1, 3}).shape(), Shape({6, 1, 4, 3}));
  EXPECT_EQ(ops::reshape(f32(graph, {1, 4, 1, 3}), {-1, -1, 3}).shape(), Shape({1, 4, 3}));
  EXPECT_EQ(ops::reshape(f32(graph, {1, 4, 3}), {1, -1, -1, 3}).shape(), Shape({1, 1, 4, 3}));
}

TEST(Reshape, FillsInOneDimension) {
  Graph graph;
  Value x = f32(graph, {6, 4});
  EXPECT_EQ(ops::reshape(x, {3, -1}).shape(), Shape({3, 8}));
  EXPECT_EQ(ops::flatten(f32(graph, {5, 2, 3, 4})).shape(), Shape({5, 24}));
  EXPECT_THAT(error_of([&] {
                ops::reshape(x, {5, -1});
              }),
              HasSubstr("[6, 4] cannot become [5, None]"));
  EXPECT_THAT(error_of([&] { ops::reshape(x, {-1, -1, 2}); }), HasSubstr("at most one"));
  EXPECT_THAT(error_of([&] { ops::reshape(x, {5, 5}); }), HasSubstr("24 elements into 25"));
}

TEST(ShapeOps, GiveTheShapesTheySay) {
  Graph graph;
  Value x = f32(graph, {2, 3, 4});
  EXPECT_EQ(ops::transpose(x, {2, 0, 1}).shape(), Shape({4, 2, 3}));
  EXPECT_EQ(ops::concatenate({x, x, x}, 1).shape(), Shape({2, 9, 4}));
  EXPECT_EQ(ops::split(x, 2)[1].shape(), Shape({2, 3, 2}));
  EXPECT_EQ(ops::slice(x, {0, 1, 0}, {2, 2, -1}).shape(), Shape({2, 2, 4}));
  EXPECT_EQ(ops::pad(x, {0, 1, 0}, {0, 2, 0}).shape(), Shape({2, 6, 4}));
  EXPECT_EQ(ops::expand_dims(x, -1).shape(), Shape({2, 3, 4, 1}));
  EXPECT_EQ(ops::expand_dims(x, 0).shape(), Shape({1, 2, 3, 4}));
  EXPECT_EQ(ops::squeeze(ops::expand_dims(x, 1), 1).shape(), x.shape());
  EXPECT_EQ(ops::broadcast_to(x, {5, 2, 3, 4}).shape(), Shape({5, 2, 3, 4}));
}

TEST(ShapeOps, SayWhatDoesNotFit) {
  Graph graph;
  Value x = f32(graph, {2, 3, 4}), y = f32(graph, {2, 5, 4});
  EXPECT_THAT(error_of([&] {
                ops::transpose(x, {0, 0, 1});
              }),
              HasSubstr("each of the 3 axes once"));
  EXPECT_THAT(error_of([&] { ops::transpose(x, {0, 1}); }), HasSubstr("each of the 3 axes once"));
  EXPECT_THAT(error_of([&] { ops::concatenate({x, y}, 2); }), HasSubstr("differ on axis 2 only"));
  EXPECT_THAT(error_of([&] { ops::concatenate({}); }), HasSubstr("at least one"));
  EXPECT_THAT(error_of([&] { ops::split(x, 3); }), HasSubstr("3 equal parts"));
  EXPECT_THAT(error_of([&] {
                ops::slice(x, {0, 2, 0}, {2, 2, 4});
              }),
              HasSubstr("outside [2, 3, 4]"));
  EXPECT_THAT(error_of([&] { ops::pad(x, {0, -1, 0}, {0, 0, 0}); }), HasSubstr("slice() removes"));
  EXPECT_THAT(error_of([&] { ops::squeeze(x, 1); }), HasSubstr("is not 1"));
  EXPECT_THAT(error_of([&] { ops::broadcast_to(x, {2, 3}); }), HasSubstr("does not broadcast"));
}

TEST(Matmul, TakesMatricesAndStacksOfThem) {
  Graph graph;
  Value a = f32(graph, {7, 2, 3}), b = f32(graph, {3, 5}), c = f32(graph, {7, 3, 5});
  EXPECT_EQ(ops::matmul(a, b).shape(), Shape({7, 2, 5}));
  EXPECT_EQ(ops::matmul(a, c).shape(), Shape({7, 2, 5}));
  EXPECT_EQ(ops::matmul(c, a, {.transpose_a = true, .transpose_b = true}).shape(),
            Shape({7, 5, 2}));
  EXPECT_THAT(error_of([&] { ops::matmul(b, b); }),
              HasSubstr("got 5 and 3 from [3, 5] and [3, 5]"));
  EXPECT_THAT(error_of([&] { ops::matmul(b, c); }), HasSubstr("inner dimensions"));
  EXPECT_THAT(error_of([&] { ops::matmul(f32(graph, {}), b); }),
              HasSubstr("at least 2 dimensions"));
}

TEST(Matmul, TakesVectorsAndBroadcastsStacks) {
  Graph graph;
  Value v = f32(graph, {3}), b = f32(graph, {3, 5}), c = f32(graph, {7, 3, 5});
  EXPECT_EQ(ops::matmul(v, b).shape(), Shape({5}));
  EXPECT_EQ(ops::matmul(v, v).shape(), Shape());
  EXPECT_EQ(ops::matmul(f32(graph, {7, 2, 3}), v).shape(), Shape({7, 2}));
  EXPECT_EQ(ops::matmul(v, c).shape(), Shape({7, 5}));
  EXPECT_EQ(ops::matmul(f32(graph, {4, 1, 2, 3}), c).shape(), Shape({4, 7, 2, 5}));
  EXPECT_EQ(ops::matmul(f32(graph, {2, 3}), c).shape(), Shape({7, 2, 5}));
}

TEST(Gather, PutsRowsWhereTheIndicesWere) {
  Graph graph;
  Value table = f32(graph, {100, 16}), ids = i64(graph, {4, 7});
  EXPECT_EQ(ops::gather(table, ids).shape(), Shape({4, 7, 16}));
  EXPECT_EQ(ops::one_hot(ids, 10).shape(), Shape({4, 7, 10}));
  EXPECT_THAT(error_of([&] { ops::gather(table, table); }),
              HasSubstr("indices of dtype int32 or int64"));
}

TEST(Losses, PointToTheirSiblingWhenTheTargetsAreOfTheOtherKind) {
  Graph graph;
  Value logits = f32(graph, {8, 10});
  Value ids = i64(graph, {8}), wide_ids = i64(graph, {8, 10}), soft = f32(graph, {8, 10});
  EXPECT_EQ(ops::sparse_softmax_cross_entropy(logits, ids).spec(),
            (TensorSpec{DType::float32, {8}}));
  EXPECT_EQ(ops::softmax_cross_entropy(logits, soft).spec(), (TensorSpec{DType::float32, {8}}));
  EXPECT_EQ(ops::sigmoid_cross_entropy(logits, soft).shape(), logits.shape());
  EXPECT_THAT(error_of([&] { ops::sparse_softmax_cross_entropy(logits, wide_ids); }),
              HasSubstr("use categorical cross-entropy"));
  EXPECT_THAT(error_of([&] { ops::softmax_cross_entropy(logits, f32(graph, {8})); }),
              HasSubstr("use sparse categorical cross-entropy"));
}

TEST(Dropout, RefusesARateThatLeavesNothing) {
  Graph graph;
  Value x = f32(graph, {4}), state = i64(graph, {2});
  EXPECT_EQ(ops::dropout(x, state, 0.5, 0).spec(), x.spec());
  EXPECT_THAT(error_of([&] { ops::dropout(x, state, 1.0, 0); }),
              HasSubstr("rate in [0, 1), got 1"));
  EXPECT_THAT(error_of([&] { ops::dropout(x, i64(graph, {3}), 0.5, 0); }), HasSubstr("int64[2]"));
}

}  // namespace stoker
