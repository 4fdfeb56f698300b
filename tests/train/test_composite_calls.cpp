// What a layer's call() may bring to a model that is compiled, and a training that has nothing to
// train.
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

TEST(CompositeCalls, ThatBringNewWeightsAfterCompileAreAnError) {
  OnDevice device;
  // Splits its batch in training, which the placeholder's size does not allow.
  class Halves : public LayerBase {
   public:
    std::string kind() const override { return "Halves"; }
    Values call(const Values& inputs, CallContext& context) override {
      Value y = main_(inputs[0]);
      if (!context.training()) return {y};
      Values parts = ops::split(y, 2, 0);
      context.add_loss(ops::mean(ops::square(head_(parts[0]) - parts[1])));
      return {y};
    }
    Dense main_{2}, head_{2};
  };
  Value x = Input({2});
  Model model(x, make_layer<Halves>()(x));
  auto compile = [&] { model.compile({.optimizer = "sgd", .loss = "mse"}); };
  auto fit = [&] {
    model.fit(normal({8, 2}, 1), normal({8, 2}, 2), {.batch_size = 4, .verbose = 0});
  };
  compile();
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(says(error_of<Error>(fit),
                     {"\"halves/dense_1/kernel\" appeared after compile()", "compile again"}));
  compile();
  std::vector<Tensor> before = model.get_weights();
  fit();
  std::vector<Tensor> after = model.get_weights();
  ASSERT_EQ(after.size(), 4U);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NE(before[i], after[i]) << i;
}

TEST(CompositeCalls, ThatUseAVariableOfNoLayerAreAnErrorUnlessItIsNotTrained) {
  OnDevice device;
  class Shift : public LayerBase {
   public:
    explicit Shift(bool trainable)
        : shift_("shift", Tensor::zeros({2}), {.trainable = trainable}) {}
    std::string kind() const override { return "Shift"; }
    Values call(const Values& inputs, CallContext&) override { return {inputs[0] + shift_}; }

   private:
    Variable shift_;
  };
  Data data = line(8, 1);
  for (bool trainable : {true, false}) {
    Sequential model({Input({2}), make_layer<Shift>(trainable), Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    auto fit = [&] { model.fit(data.x, data.y, {.verbose = 0}); };
    if (trainable)
      EXPECT_TRUE(says(error_of<Error>(fit),
                       {"variable \"shift\"", "would not be trained", "add_weight()"}));
    else
      EXPECT_NO_THROW(fit());
    EXPECT_EQ(model.predict(data.x).shape(), Shape({8, 1}));
  }
}

TEST(CompositeCalls, MayUseAWeightOfAnotherLayerOfTheModel) {
  OnDevice device;
  class Transposed : public LayerBase {
   public:
    explicit Transposed(Layer of) : of_(std::move(of)) {}
    std::string kind() const override { return "Transposed"; }
    Values call(const Values& inputs, CallContext&) override {
      return {ops::matmul(inputs[0], of_.weights()[0], {.transpose_b = true})};
    }

   private:
    Layer of_;
  };
  Layer encoder = Dense(2);
  Sequential model({Input({4}), encoder, make_layer<Transposed>(encoder)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  Tensor x = normal({8, 4}, 1);
  model.fit(x, x, {.verbose = 0});
  EXPECT_EQ(model.count_params(), 4 * 2 + 2);
}

TEST(NothingToTrain, IsAnErrorThatNamesWhatIsFrozen) {
  OnDevice device;
  Data data = line(8, 1);
  Sequential model({Input({2}), Dense(4, {.name = "body"}), Dense(1, {.name = "head"})});
  model.set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  auto expect = [&](const std::string& text, const char* action) {
    EXPECT_EQ(text,
              std::string(action) +
                  ": Sequential \"sequential\" has nothing to train: when it was compiled, "
                  "these layers were frozen: \"body\", \"head\"; call set_trainable(true) and "
                  "compile again");
  };
  expect(error_of<Error>([&] { model.fit(data.x, data.y); }), "fit");
  expect(error_of<Error>([&] { model.train_on_batch(data.x, data.y); }), "train_on_batch");
  EXPECT_TRUE(std::isfinite(model.evaluate(data.x, data.y)["loss"]));
  EXPECT_FALSE(model.summary().empty());
  Sequential empty({Input({2}), Activation("relu")});
  empty.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_TRUE(says(error_of<Error>([&] { empty.fit(data.x, data.x); }),
                   {"nothing to train: none of its layers has trainable weights"}));
  EXPECT_EQ(empty.predict(data.x).shape(), Shape({8, 2}));
}

TEST(NothingToTrain, IsAnErrorInAnOwnLoop) {
  OnDevice device;
  Dense dense(1);
  SGD sgd;
  std::vector<Variable> none = dense.trainable_weights();  // too early: it was never called
  auto step = function([&](const Value& x) {
    Value loss = ops::mean(dense(x));
    sgd.apply(gradients(loss, none), none);
    return loss;
  });
  EXPECT_TRUE(says(error_of<ValueError>([&] { step(normal({2, 2}, 1)); }), {"got no variables"}));
}

TEST(LayersInFunctions, AreConstructedOutside) {
  OnDevice device;
  auto wrong = function([](const Value& x) { return Dense(2)(x); }, {.name = "step"});
  EXPECT_TRUE(says(error_of<Error>([&] {
                     wrong(normal({2, 2}, 1));
                   }),
                   {"Dense", "constructed while \"step\" is traced", "outside of function()"}));
  auto right = function([](const Value& x) { return Flatten()(Activation("relu")(x)); });
  EXPECT_EQ(right(normal({2, 2, 2}, 1)).tensor().shape(), Shape({2, 4}));
}

}  // namespace
}  // namespace stoker
