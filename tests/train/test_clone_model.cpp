// clone_model and Sequential::pop.
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

// The weights' names and specs, which a clone has too.
std::vector<std::string> described(const Model& model) {
  std::vector<std::string> all;
  for (const Variable& weight : model.weights())
    all.push_back(weight.name() + " " + to_string(weight.spec()));
  return all;
}

// The same function once it has the same weights; its own weights before.
void expect_clone(const Model& model, const Model& clone, const TensorList& x) {
  EXPECT_EQ(described(clone), described(model));
  EXPECT_FALSE(clone.compiled());
  std::vector<Tensor> before = model.get_weights();
  EXPECT_NE(clone.get_weights(), before);  // newly drawn
  clone.set_weights(before);
  EXPECT_EQ(clone.predict_all(x), model.predict_all(x));
  std::vector<Tensor> zeros;
  for (const Tensor& weight : before) zeros.push_back(Tensor::zeros(weight.shape()));
  clone.set_weights(zeros);
  EXPECT_EQ(model.get_weights(), before);  // nothing is shared
}

TEST(CloneModel, HasTheArchitectureAndWeightsOfItsOwn) {
  test::OnDevice device;
  Sequential model({Input({6, 6, 1}), Conv2D(3, 3, {.activation = "relu"}), BatchNormalization(),
                    Flatten(), Dropout(0.5), Dense(2)},
                   {.name = "digits"});
  model.get_layer(0).set_trainable(false);
  Model clone = clone_model(model);
  EXPECT_EQ(clone.name(), "digits");
  EXPECT_FALSE(clone.get_layer(0).trainable());
  expect_clone(model, clone, test::normal({4, 6, 6, 1}, 1));
}

TEST(CloneModel, KeepsSharedAndNestedLayersTogether) {
  test::OnDevice device;
  Sequential inner({Input({3}), Dense(4, {.activation = "tanh"}), Dense(3)}, {.name = "inner"});
  Dense shared(3, {.name = "shared"});
  Value a = Input({3}), b = Input({3});
  Value joined = ops::concatenate({shared(inner(a)), shared(b) * 2.0}, 1);
  Model model({a, b}, {Dense(1, {.name = "one"})(joined), inner(b)});
  Model clone = clone_model(model);
  EXPECT_EQ(clone.layers().size(), model.layers().size());
  EXPECT_EQ(clone.get_layer("inner/dense").name(), "dense");
  expect_clone(model, clone, {test::normal({5, 3}, 1), test::normal({5, 3}, 2)});
}

TEST(CloneModel, TakesNewInputs) {
  test::OnDevice device;
  Sequential model({Input({3}), Dense(2)});
  Value in = Input({3}, {.name = "mine"});
  Model clone = clone_model(model, {.input_tensors = {in}});
  EXPECT_EQ(clone.inputs().size(), 1U);
  expect_clone(model, clone, test::normal({4, 3}, 1));
  EXPECT_TRUE(says(error_of<Error>([&] { clone_model(model, {.input_tensors = {Input({4})}}); }),
                   {"clone_model", "[None, 3]"}));
  EXPECT_TRUE(says(error_of<Error>([&] {
                     clone_model(model, {.input_tensors = {in, in}});
                   }),
                   {"1 inputs"}));
}

TEST(CloneModel, AsksItsFunctionForLayers) {
  test::OnDevice device;
  Dense twice(2, {.name = "twice"});
  Value in = Input({2});
  Model model(in, Dense(1, {.name = "last"})(twice(twice(in))));
  int asked = 0;
  Model clone = clone_model(model, {.clone_function = [&](const Layer& layer) -> Layer {
                              ++asked;
                              if (layer.name() == "last") return Dense(5, {.name = "last"});
                              return {};
                            }});
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(clone.predict(test::normal({3, 2}, 1)).shape(), Shape({3, 5}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     clone_model(model,
                                 {.clone_function = [](const Layer& layer) { return layer; }});
                   }),
                   {"twice", "would share"}));
}

TEST(CloneModel, NeedsItsFunctionForTheUsersOwnCode) {
  test::OnDevice device;
  auto doubled = [] { return Lambda([](const Value& x) { return x * 2.0; }, {.name = "doubled"}); };
  Sequential model({Input({2}), doubled(), Dense(1)});
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { clone_model(model); }), {"doubled", ".clone_function"}));
  Model clone = clone_model(model, {.clone_function = [&](const Layer& layer) -> Layer {
                              return layer.name() == "doubled" ? Layer(doubled()) : Layer();
                            }});
  expect_clone(model, clone, test::normal({4, 2}, 1));
}

TEST(CloneModel, OfAListThatHasMetNoInputIsOneToo) {
  test::OnDevice device;
  Sequential model({Dense(4), Dense(2)});
  Model clone = clone_model(model);
  EXPECT_EQ(clone.predict(test::normal({3, 5}, 1)).shape(), Shape({3, 2}));
  EXPECT_EQ(model.predict(test::normal({3, 6}, 1)).shape(), Shape({3, 2}));
}

TEST(CloneModel, FitsBesideOthersOfTheSameModel) {
  test::OnDevice device;
  test::TempDir dir;
  Sequential model({Input({3}), Dense(2)});
  model.save(dir / "m.stoker");
  Value in = Input({3});
  Values outputs = {model(in)};
  for (int i = 0; i < 2; ++i) outputs.push_back(clone_model(model)(in));
  for (int i = 0; i < 2; ++i) outputs.push_back(load_model(dir / "m.stoker")(in));
  Model ensemble(in, Average()(outputs));
  EXPECT_EQ(ensemble.layers()[4].name(), "sequential_4");
  EXPECT_EQ(ensemble.count_params(), 5 * model.count_params());
  ensemble.save(dir / "e.stoker");
  Tensor x = test::normal({4, 3}, 1);
  EXPECT_EQ(load_model(dir / "e.stoker").predict(x), ensemble.predict(x));
  EXPECT_EQ(clone_model(ensemble).layers()[4].name(), "sequential_4");
}

TEST(Pop, RemovesTheLastLayerAndGivesItBack) {
  test::OnDevice device;
  Sequential model({Input({3}), Dense(4), Dense(2, {.name = "head"})});
  Tensor x = test::normal({5, 3}, 1);
  Tensor answers = model.predict(x);
  Layer head = model.pop();
  EXPECT_EQ(head.name(), "head");
  EXPECT_EQ(model.layers().size(), 1U);
  EXPECT_EQ(model.predict(x).shape(), Shape({5, 4}));  // not by the program of before
  model.add(head);
  EXPECT_EQ(model.predict(x), answers);  // the same weights
  model.add(Dense(7));
  EXPECT_EQ(model.predict(x).shape(), Shape({5, 7}));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_TRUE(says(error_of<Error>([&] { model.pop(); }), {"removed after compile()"}));
}

TEST(Pop, LeavesTheInput) {
  test::OnDevice device;
  Sequential model({Input({3}), Dense(4)});
  model.pop();
  EXPECT_TRUE(says(error_of<Error>([&] { model.pop(); }), {"no layer to remove"}));
  model.add(Dense(2));
  EXPECT_EQ(model.predict(test::normal({5, 3}, 1)).shape(), Shape({5, 2}));
  Sequential without({Dense(2)});
  without.pop();
  without.add(Dense(1));
  EXPECT_EQ(without.predict(test::normal({5, 8}, 1)).shape(), Shape({5, 1}));
}

}  // namespace
}  // namespace stoker
