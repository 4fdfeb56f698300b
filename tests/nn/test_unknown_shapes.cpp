// Dimensions besides the batch that are not known when a model is drawn.
#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

Shape shape_of(const Layer& layer, const Shape& input, DType dtype = DType::float32) {
  return layer(Input(input, {.dtype = dtype})).shape();
}

TEST(UnknownShapes, LayersOverTimeLeaveTheLengthOpen) {
  EXPECT_EQ(shape_of(Embedding(10, 4), {-1}, DType::int32), Shape({-1, -1, 4}));
  EXPECT_EQ(shape_of(Dense(3), {-1, 4}), Shape({-1, -1, 3}));
  EXPECT_EQ(shape_of(Conv1D(3, 5), {-1, 4}), Shape({-1, -1, 3}));
  EXPECT_EQ(shape_of(Conv1DTranspose(3, 5, {.strides = 2}), {-1, 4}), Shape({-1, -1, 3}));
  EXPECT_EQ(shape_of(MaxPooling1D(), {-1, 4}), Shape({-1, -1, 4}));
  EXPECT_EQ(shape_of(GlobalAveragePooling1D(), {-1, 4}), Shape({-1, 4}));
  EXPECT_EQ(shape_of(GlobalMaxPooling1D({.keepdims = true}), {-1, 4}), Shape({-1, 1, 4}));
  EXPECT_EQ(shape_of(UpSampling1D(3), {-1, 4}), Shape({-1, -1, 4}));
  EXPECT_EQ(shape_of(Masking(), {-1, 4}), Shape({-1, -1, 4}));
  EXPECT_EQ(shape_of(LayerNormalization(), {-1, 4}), Shape({-1, -1, 4}));
  EXPECT_EQ(shape_of(BatchNormalization(), {-1, 4}), Shape({-1, -1, 4}));
  EXPECT_EQ(shape_of(Reshape({-1, 2, 2}), {-1, 4}), Shape({-1, -1, 2, 2}));
  EXPECT_EQ(shape_of(Permute({2, 1}), {-1, 4}), Shape({-1, 4, -1}));
  EXPECT_EQ(shape_of(Flatten(), {-1, 4}), Shape({-1, -1}));
}

TEST(UnknownShapes, ImagesMayHaveAnySize) {
  EXPECT_EQ(shape_of(Conv2D(8, 3, {.padding = "same"}), {-1, -1, 3}), Shape({-1, -1, -1, 8}));
  EXPECT_EQ(shape_of(MaxPooling2D(), {-1, 32, 3}), Shape({-1, -1, 16, 3}));
  EXPECT_EQ(shape_of(GlobalAveragePooling2D(), {-1, -1, 3}), Shape({-1, 3}));
  Value image = Input({-1, -1, 3});
  Value small = Conv2D(4, 3, {.strides = 2, .padding = "same"})(MaxPooling2D()(image));
  Value large = UpSampling2D(4)(small);
  EXPECT_EQ(Concatenate()({image, large}).shape(), Shape({-1, -1, -1, 7}));
}

TEST(UnknownShapes, OpsOfAFunctionalModelKeepThem) {
  Value x = Input({-1, 4});
  EXPECT_EQ((x * 2.0 + x).shape(), Shape({-1, -1, 4}));
  EXPECT_EQ(ops::mean(x, {.axes = {1}}).shape(), Shape({-1, 4}));
  EXPECT_EQ(ops::transpose(x, {0, 2, 1}).shape(), Shape({-1, 4, -1}));
  EXPECT_EQ(ops::matmul(x, x, {.transpose_b = true}).shape(), Shape({-1, -1, -1}));
  EXPECT_EQ(ops::concatenate({x, x}, 1).shape(), Shape({-1, -1, 4}));
  EXPECT_EQ(ops::expand_dims(x, -1).shape(), Shape({-1, -1, 4, 1}));
  EXPECT_EQ(ops::squeeze(ops::expand_dims(x, 2), 2).shape(), Shape({-1, -1, 4}));
}

TEST(UnknownShapes, AWeightNeedsAKnownSize) {
  Layer dense = Dense(3, {.name = "head"});
  EXPECT_EQ(message_of<ShapeError>([&] {
              dense(Flatten()(Input({-1, 4})));
            }),
            "Dense \"head\": its weight \"kernel\" would be [None, 3]: it needs a known size where "
            "its input has None; give Input that size, or reduce the dimension before it "
            "(GlobalAveragePooling1D, GlobalMaxPooling1D; Flatten needs a known size)");
  EXPECT_FALSE(dense.base().built());
  EXPECT_EQ(dense(Input({5})).shape(), Shape({-1, 3}));  // as if nothing had been
  EXPECT_THROW(LayerNormalization({.axis = 1})(Input({-1, 4})), ShapeError);
  EXPECT_THROW(Conv1D(2, 3)(Input({4, -1})), ShapeError);
  EXPECT_THROW(Conv2D(2, 3, {.groups = 2})(Input({4, 4, -1})), ShapeError);
}

class FlattenedDense : public LayerBase {
 public:
  std::string kind() const override { return "FlattenedDense"; }
  Values call(const Values& inputs, CallContext&) override {
    return {dense_(ops::flatten(inputs[0]))};
  }

 private:
  Layer dense_ = Dense(2);
};

TEST(UnknownShapes, AlsoInsideOfOwnLayers) {
  Layer own = make_layer<FlattenedDense>();
  std::string text = message_of<ShapeError>([&] { own(Input({-1, 4})); });
  EXPECT_NE(text.find("which it was built for"), std::string::npos) << text;
  EXPECT_TRUE(own.weights().empty());
  EXPECT_EQ(own(Input({3, 4})).shape(), Shape({-1, 2}));
}

TEST(UnknownShapes, ErrorsShowNoPlaceholders) {
  std::string text = message_of<ShapeError>([] { Conv2D(4, 3)(Input({-1, 4})); });
  EXPECT_NE(text.find("got [None, None, 4]"), std::string::npos) << text;
  text = message_of<ShapeError>([] { Add()({Input({-1, 4}), Input({-1, 3})}); });
  EXPECT_NE(text.find("[None, None, 4] and [None, None, 3]"), std::string::npos) << text;
}

}  // namespace
}  // namespace stoker::test
