// Masks from layer to layer.
#include "graph/graph.h"
#include "nn/masks.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

const Tensor kPadded = Tensor::from<int32_t>({3, 1, 0, 2, 0, 0}, {2, 3});

// The mask that the layers leave on their last value, as numbers; {} where there is none.
std::vector<double> mask_after(const std::vector<Layer>& layers, const Tensor& input) {
  bool masked = false;
  std::vector<Tensor> found = run({input}, [&](Graph&, const Values& inputs) {
    Value x = inputs[0];
    for (const Layer& layer : layers) x = layer(x);
    Value mask = mask_of(x);
    masked = mask.defined();
    return Values{masked ? ops::cast(mask, DType::float32) : ops::cast(x, DType::float32)};
  });
  std::vector<double> values;
  for (int64_t i = 0; masked && i < found[0].elements(); ++i) values.push_back(found[0].at(i));
  return values;
}

const std::vector<double> kPaddedMask = {1, 1, 0, 1, 0, 0};

TEST(Masks, AnEmbeddingMarksTheIdsThatAreNotZero) {
  EXPECT_EQ(mask_after({Embedding(4, 2, {.mask_zero = true})}, kPadded), kPaddedMask);
  EXPECT_TRUE(mask_after({Embedding(4, 2)}, kPadded).empty());
}

TEST(Masks, MaskingMarksStepsWhoseValuesAllAreTheMaskValue) {
  Tensor x = floats({-1, -1, -1, 2, 3, -1}, {1, 3, 2});
  EXPECT_EQ(mask_after({Masking(-1)}, x), (std::vector<double>{0, 1, 1}));
  EXPECT_TRUE(near(run_layer(Masking(-1), x), {0, 0, -1, 2, 3, -1}));
}

TEST(Masks, LayersThatKeepStepsPassThemOn) {
  Layer embedding = Embedding(4, 2, {.mask_zero = true});
  for (const Layer& layer : std::vector<Layer>{
           Dense(3), Activation("relu"), ReLU(), LeakyReLU(), ELU(), PReLU({.shared_axes = {1}}),
           Softmax(), Dropout(0.5), LayerNormalization(), BatchNormalization(), UnitNormalization(),
           Rescaling(2), WeightNormalization(Dense(3))})
    EXPECT_EQ(mask_after({embedding, layer}, kPadded), kPaddedMask) << layer.base().kind();
}

TEST(Masks, OthersDropThem) {
  Layer embedding = Embedding(4, 2, {.mask_zero = true});
  for (const Layer& layer :
       std::vector<Layer>{Conv1D(2, 2), MaxPooling1D(), Flatten(), Reshape({6}), Permute({2, 1}),
                          ZeroPadding1D(), GlobalMaxPooling1D(), GlobalAveragePooling1D(),
                          Lambda([](const Value& x) { return x * 2.0; })})
    EXPECT_TRUE(mask_after({embedding, layer}, kPadded).empty()) << layer.base().kind();
}

TEST(Masks, ALayerThatDropsOneIsNoted) {
  Layer embedding = Embedding(4, 2, {.mask_zero = true}), conv = Conv1D(2, 2, {.name = "local"});
  run({kPadded}, [&](Graph& graph, const Values& inputs) {
    Value y = GlobalAveragePooling1D()(embedding(inputs[0]));
    EXPECT_TRUE(layers_that_dropped_masks(graph).empty());
    y = y + ops::mean(conv(embedding(inputs[0])), {.axes = {1}});
    EXPECT_EQ(layers_that_dropped_masks(graph), std::vector<std::string>{"Conv1D \"local\""});
    return Values{y};
  });
}

TEST(Masks, ACallMayBringItsOwn) {
  Layer pool = GlobalAveragePooling1D();
  Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3, 1}),
         mask = Tensor::from<int32_t>({1, 0, 1, 0, 0, 1}, {2, 3});
  for (const std::string& device : devices()) {
    std::vector<Tensor> y = run(
        {x, mask}, [&](Graph&, const Values& in) { return Values{pool(in[0], {.mask = {in[1]}})}; },
        {.device = device});
    EXPECT_TRUE(near(y[0], {2, 6})) << device;
  }
  EXPECT_EQ(message_of<ValueError>([&] {
              pool(Input({3, 1}), {.mask = {Value(), mask}});
            }),
            "GlobalAveragePooling1D: got 2 masks for 1 inputs");
}

TEST(Masks, AFullRankOneLeavesElementsOutOfASoftmax) {
  Tensor x = floats({1, 2, 3, 0, 0, 0}, {2, 3});
  std::vector<Tensor> y = run({x}, [](Graph&, const Values& in) {
    Value mask = Tensor::from<bool>({true, false, true, false, false, false}, {2, 3});
    return Values{Softmax()(in[0], {.mask = {mask}})};
  });
  double odds = std::exp(2.0);
  EXPECT_TRUE(near(y[0], {1 / (1 + odds), 0, odds / (1 + odds), 0, 0, 0}));
}

// Weighs each step by its number in the sequence and passes the mask on to all but the first step.
class Tail : public LayerBase {
 public:
  std::string kind() const override { return "Tail"; }
  Values call(const Values& inputs, CallContext& context) override {
    saw_mask = context.mask().defined();
    const Shape& shape = inputs[0].shape();
    return {ops::slice(inputs[0], {0, 1, 0}, {shape[0], shape[1] - 1, shape[2]})};
  }
  Values compute_mask(const Values&, const Values& masks) const override {
    if (!masks[0].defined()) return {};
    return {ops::slice(masks[0], {0, 1}, {-1, -1})};
  }
  bool saw_mask = false;
};

TEST(Masks, AnOwnLayerReadsAndChangesThem) {
  auto tail = std::make_shared<Tail>();
  EXPECT_EQ(mask_after({Embedding(4, 2, {.mask_zero = true}), Layer(tail), Dense(2)}, kPadded),
            (std::vector<double>{1, 0, 0, 0}));
  EXPECT_TRUE(tail->saw_mask);
}

class Block : public LayerBase {
 public:
  std::string kind() const override { return "Block"; }
  Values call(const Values& inputs, CallContext&) override { return {norm_(dense_(inputs[0]))}; }

 private:
  Layer dense_ = Dense(2), norm_ = LayerNormalization();
};

TEST(Masks, LayersInsideOfAnOwnOneCarryThem) {
  EXPECT_EQ(mask_after({Embedding(4, 2, {.mask_zero = true}), make_layer<Block>()}, kPadded),
            kPaddedMask);
}

TEST(Masks, MustFitTheirValue) {
  run({kPadded}, [](Graph& graph, const Values& inputs) {
    CallContext context(graph);
    EXPECT_THROW(context.set_mask(inputs[0], Tensor::full({2, 4}, 1, DType::bool_)), ShapeError);
    EXPECT_THROW(context.set_mask(inputs[0], Tensor::full({2, 3, 1}, 1, DType::bool_)), ShapeError);
    context.set_mask(inputs[0], Tensor::full({2}, 1));
    EXPECT_EQ(context.mask_of(inputs[0]).dtype(), DType::bool_);
    return Values{inputs[0] * 1};
  });
}

TEST(Masks, MergeWhereAllInputsHaveOne) {
  Layer embedding = Embedding(4, 2, {.mask_zero = true});
  Tensor other = Tensor::from<int32_t>({0, 1, 0, 0, 0, 1}, {2, 3});
  auto merged = [&](const Layer& merge, bool both) {
    std::vector<double> values;
    std::vector<Tensor> found = run({kPadded, other}, [&](Graph&, const Values& in) {
      Value b = embedding(in[1]);
      Value mask = mask_of(merge({embedding(in[0]), both ? b : b * 1.0}));
      return Values{mask.defined() ? ops::cast(mask, DType::float32) : Value(Tensor(7.0F)) * 1.0};
    });
    for (int64_t i = 0; i < found[0].elements(); ++i) values.push_back(found[0].at(i));
    return values;
  };
  EXPECT_EQ(merged(Add(), true), (std::vector<double>{1, 1, 0, 1, 0, 1}));
  EXPECT_EQ(merged(Multiply(), false), (std::vector<double>{7}));
  EXPECT_EQ(merged(Concatenate(), true), (std::vector<double>{1, 1, 0, 1, 0, 1}));
  EXPECT_EQ(merged(Concatenate(1), false),
            (std::vector<double>{1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace stoker::test
