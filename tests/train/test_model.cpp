#include <set>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

std::vector<std::string> names(const Model& model) {
  std::vector<std::string> list;
  for (const Layer& layer : model.layers()) list.push_back(layer.name());
  return list;
}

TEST(ModelNames, CountEachKindInModelOrder) {
  Sequential model({Input({8, 8, 1}), Conv2D(2, 3), Conv2D(2, 3), BatchNormalization(), Flatten(),
                    Dense(4), Dense(3)});
  EXPECT_EQ(names(model), (std::vector<std::string>{"conv2d", "conv2d_1", "batch_normalization",
                                                    "flatten", "dense", "dense_1"}));
  EXPECT_EQ(model.weights()[0].name(), "conv2d/kernel");
}

TEST(ModelNames, LeaveWhatTheUserGave) {
  Sequential model({Input({4}), Dense(4, {.name = "dense"}), Dense(3), Dense(2, {.name = "head"})});
  EXPECT_EQ(names(model), (std::vector<std::string>{"dense", "dense_1", "head"}));
}

TEST(ModelNames, RefuseTheSameTwice) {
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     Sequential({Input({4}), Dense(4, {.name = "a"}), Dense(3, {.name = "a"})});
                   }),
                   {"\"a\"", "another .name"}));
  Value in = Input({4});
  EXPECT_THROW(Model(in, Dense(1, {.name = "b"})(Dense(1, {.name = "b"})(in))), ValueError);
}

TEST(Model, FindsLayersByNameAndIndex) {
  Sequential model({Input({4}), Dense(4, {.name = "first"}), Dense(3, {.name = "last"})});
  EXPECT_EQ(model.get_layer("last"), model.get_layer(-1));
  EXPECT_EQ(model.get_layer("first"), model.get_layer(0));
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.get_layer("middle"); }), {"middle", "first, last"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.get_layer(2); }), {"2 layers"}));
}

TEST(Model, TellsItsShapesAndWhatItMeasures) {
  Sequential model({Input({8, 8, 1}), Flatten(), Dense(4, {.activation = "softmax"})});
  EXPECT_EQ(model.input_shape(), (Shape{-1, 8, 8, 1}));
  EXPECT_EQ(model.output_shape(), (Shape{-1, 4}));
  EXPECT_TRUE(model.metrics_names().empty());
  model.compile({.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  EXPECT_EQ(model.metrics_names(), (std::vector<std::string>{"loss", "accuracy"}));
  Value a = Input({4}), b = Input({4});
  Model two({a, b}, {a + b});
  EXPECT_TRUE(says(error_of<ValueError>([&] { two.input_shape(); }), {"2 inputs", "inputs()"}));
  EXPECT_EQ(two.output_shape(), (Shape{-1, 4}));
}

TEST(Model, CountsParameters) {
  Sequential model({Input({8, 8, 1}), Conv2D(2, 3), BatchNormalization(), Flatten(), Dense(4)});
  EXPECT_EQ(model.count_params(), 20 + 8 + (72 * 4 + 4));
  EXPECT_EQ(model.trainable_variables().size(), 6U);
  EXPECT_EQ(model.non_trainable_variables().size(), 2U);
}

TEST(Model, OfOutputsThatNeedAnotherInputIsRefused) {
  Value a = Input({4}, {.name = "a"}), b = Input({4}, {.name = "b"});
  Value sum = Add()({a, b});
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { Model(a, sum); }), {"\"b\"", "not among the inputs"}));
  EXPECT_NO_THROW(Model({a, b}, {sum}));
  EXPECT_THROW(Model(Values{}, Values{sum}), ValueError);
  EXPECT_THROW(Model({a, a}, {sum}), ValueError);
  EXPECT_THROW(Model(Value(Tensor(1.0F)), sum), ValueError);
}

TEST(Model, OfPartsOfAnotherSharesItsWeights) {
  OnDevice device;
  Value in = Input({4});
  Layer first = Dense(3, {.name = "first"});
  Model whole(in, Dense(2)(first(in)));
  Model part(whole.inputs()[0], whole.output_of("first"));
  Tensor x = test::normal({5, 4}, 1);
  EXPECT_EQ(part.weights()[0], whole.weights()[0]);
  EXPECT_EQ(part(x).shape(), (Shape{5, 3}));
  // From the middle on: the first layer's output is an input now.
  Model rest(whole.output_of("first"), whole.outputs()[0]);
  EXPECT_EQ(rest.layers().size(), 1U);
  test::expect_near(rest(part(x)), whole(x), 1e-6);
}

TEST(Model, EmptyHandlesSaySo) {
  EXPECT_TRUE(says(error_of<Error>([] { Model().layers(); }), {"empty Model"}));
  EXPECT_THROW(Sequential({Layer()}), ValueError);
}

TEST(Sequential, WithoutInputIsBuiltByTheFirstData) {
  OnDevice device;
  Sequential model({Dense(3, {.activation = "relu"}), Dense(2)});
  EXPECT_TRUE(says(error_of<Error>([&] { model.count_params(); }), {"Input("}));
  EXPECT_THROW(model.summary(), Error);
  EXPECT_EQ(model(test::normal({7, 5}, 1)).shape(), (Shape{7, 2}));
  EXPECT_EQ(model.count_params(), 5 * 3 + 3 + 3 * 2 + 2);
}

TEST(Sequential, TakesLayersOneByOne) {
  Sequential model;
  model.add(Input({4}));
  model.add(Dense(3));
  model.add(Dense(2));
  EXPECT_EQ(model.outputs()[0].shape(), (Shape{-1, 2}));
  EXPECT_THROW(model.add(Input({4})), ValueError);
  model.compile({.loss = "mse"});
  EXPECT_TRUE(says(error_of<Error>([&] { model.add(Dense(1)); }), {"after compile"}));
}

TEST(Sequential, ALayerThatDoesNotFitIsNotAdded) {
  Sequential model({Input({4})});
  EXPECT_THROW(model.add(Conv2D(2, 3)), ShapeError);
  model.add(Dense(2));
  EXPECT_EQ(model.layers().size(), 1U);
}

TEST(Sequential, MayHoldALayerTwice) {
  test::OnDevice device;
  test::TempDir dir;
  Dense shared(3);
  ReLU relu;
  Sequential model({Input({3}), shared, relu, shared, relu});
  EXPECT_EQ(model.count_params(), 12);
  Tensor x = test::normal({4, 3}, 1);
  Tensor by_hand = compute([&] { return ops::relu(shared(ops::relu(shared(Value(x))))); });
  test::expect_near(model.predict(x), by_hand, 1e-6);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(x, x, {.epochs = 1, .verbose = 0});
  EXPECT_NE(model.summary().find("dense (Dense)"), std::string::npos);
  model.save(dir / "m.stoker");
  Model loaded = load_model(dir / "m.stoker");
  EXPECT_EQ(loaded.count_params(), 12);
  EXPECT_EQ(loaded.predict(x), model.predict(x));
  EXPECT_EQ(clone_model(model).count_params(), 12);
}

TEST(Sequential, BeginningWithAModelKnowsItsInput) {
  Sequential inner({Input({4}), Dense(3)}, {.name = "inner"});
  Sequential outer({inner, Dense(2)});
  EXPECT_EQ(outer.count_params(), 15 + 8);
  EXPECT_EQ(names(outer), (std::vector<std::string>{"inner", "dense"}));
}

TEST(Model, InsideAModelSharesItsWeights) {
  OnDevice device;
  Sequential inner({Input({4}), Dense(3)});
  Value in = Input({4});
  Model outer(in, Dense(2)(inner(in)));
  EXPECT_EQ(outer.weights()[0], inner.weights()[0]);
  EXPECT_EQ(names(outer), (std::vector<std::string>{"sequential", "dense"}));
  Tensor x = test::normal({3, 4}, 1), y = Tensor::zeros({3, 2});
  outer.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
  Tensor before = inner.get_weights()[0];
  outer.train_on_batch(x, y);
  EXPECT_FALSE(inner.get_weights()[0] == before);
}

TEST(Model, ASharedLayerHasOneSetOfWeights) {
  OnDevice device;
  Value a = Input({4}), b = Input({4});
  Dense shared(3);
  Model model({a, b}, {Concatenate()({shared(a), shared(b)})});
  EXPECT_EQ(model.layers().size(), 2U);
  EXPECT_EQ(model.count_params(), 15);
  Tensor x = test::normal({2, 4}, 1);
  Tensor out = model.predict({x, x});
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 3; ++column)
      EXPECT_EQ(out.at(row * 6 + column), out.at(row * 6 + 3 + column));
}

TEST(Model, CastsIntegersAndAddsTheLastDimensionOfOne) {
  OnDevice device;
  Sequential model({Input({2, 2, 1}), Flatten(), Dense(1, {.kernel_initializer = "ones"})});
  Tensor pixels = Tensor::from<uint8_t>({1, 2, 3, 250}, {1, 2, 2});
  EXPECT_EQ(model(pixels).item(), 256);
}

TEST(Model, OpsBetweenLayersArePartOfIt) {
  OnDevice device;
  Value in = Input({3});
  Model model(in, ops::relu(in * 2.0 - 1.0) + Tensor::from({10.0F, 20.0F, 30.0F}, {3}));
  EXPECT_EQ(model(Tensor::from({0.0F, 1.0F, 2.0F}, {1, 3})),
            Tensor::from({10.0F, 21.0F, 33.0F}, {1, 3}));
}

TEST(Freezing, TakesEffectAtTheNextCompile) {
  OnDevice device;
  test::Data data = test::blobs(16, 4, 2, 1);
  Sequential model({Input({4}), Dense(8, {.name = "frozen"}), BatchNormalization(),
                    Dense(2, {.activation = "softmax"})});
  CompileArgs args{.optimizer = "adam", .loss = "sparse_categorical_crossentropy"};
  model.compile(args);
  Layer frozen = model.get_layer("frozen"), norm = model.get_layer("batch_normalization");
  frozen.set_trainable(false);
  norm.set_trainable(false);
  Tensor before = frozen.get_weights()[0];
  model.fit(data.x, data.y, {.epochs = 1, .batch_size = 16});
  EXPECT_FALSE(frozen.get_weights()[0] == before);  // still as compiled

  model.compile(args);
  before = frozen.get_weights()[0];
  std::vector<Tensor> norm_before = norm.get_weights(), head = model.get_layer(-1).get_weights();
  model.fit(data.x, data.y, {.epochs = 2, .batch_size = 16});
  EXPECT_TRUE(frozen.get_weights()[0] == before);
  EXPECT_EQ(norm.get_weights(), norm_before);  // its moving statistics rest too
  EXPECT_FALSE(model.get_layer(-1).get_weights() == head);
}

TEST(Freezing, AModelFreezesAllItHolds) {
  Sequential inner({Input({4}), Dense(3)});
  Sequential outer({Input({4}), inner, Dense(2)});
  outer.get_layer("sequential").set_trainable(false);
  EXPECT_EQ(outer.trainable_variables().size(), 2U);
  EXPECT_EQ(outer.weights().size(), 4U);
}

}  // namespace
}  // namespace stoker
