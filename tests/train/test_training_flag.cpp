// model(x, {.training = …}): in functions, in layers, in functional models, on tensors.
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

bool has_zeros(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.elements(); ++i)
    if (tensor.at(i) == 0) return true;
  return false;
}

// Says in which mode it is called.
class Mode : public LayerBase {
 public:
  std::string kind() const override { return "Mode"; }
  Values call(const Values& inputs, CallContext& context) override {
    return {inputs[0] * 0.0 + (context.training() ? 1.0 : 0.0)};
  }
};

// Calls what it holds in a mode of its own, or in its caller's.
class Caller : public LayerBase {
 public:
  Caller(Layer inner, CallOptions options) : inner_(std::move(inner)), options_(options) {}
  std::string kind() const override { return "Caller"; }
  Values call(const Values& inputs, CallContext&) override { return {inner_(inputs[0], options_)}; }

 private:
  Layer inner_;
  CallOptions options_;
};

class TrainingFlag : public DeviceTest {
 protected:
  Tensor ones_ = Tensor::full({8, 16}, 1);
};
INSTANTIATE_ON_DEVICES(TrainingFlag);

TEST_P(TrainingFlag, HoldsForAllThatIsNestedUntilACallSaysOtherwise) {
  Layer mode = make_layer<Mode>();
  Layer plain = make_layer<Caller>(mode, CallOptions{});
  Layer deep = make_layer<Caller>(plain, CallOptions{});
  Layer off = make_layer<Caller>(plain, CallOptions{.training = false});
  Layer on_in_off = make_layer<Caller>(make_layer<Caller>(mode, CallOptions{.training = true}),
                                       CallOptions{.training = false});
  auto modes = [&](bool training) {
    auto step = function(
        [&](const Value& x) {
          Values all = {deep(x),
                        deep(x, {.training = false}),
                        deep(x, {.training = true}),
                        off(x, {.training = true}),
                        on_in_off(x, {.training = false}),
                        deep.call_all({x}, {.training = false})[0],
                        Add()({mode(x), mode(x)}, {.training = false}),
                        deep(x)};
          for (Value& each : all) each = ops::mean(each);
          return all;
        },
        {.training = training});
    std::vector<double> values;
    for (const LazyTensor& value : step(ones_)) values.push_back(value);
    return values;
  };
  EXPECT_EQ(modes(true), std::vector<double>({1, 0, 1, 0, 1, 0, 2, 1}));
  EXPECT_EQ(modes(false), std::vector<double>({0, 0, 1, 0, 1, 0, 0, 0}));
}

TEST_P(TrainingFlag, TurnsATeachersDropoutOffInATrainingFunction) {
  Sequential teacher({Input({16}), Dropout(0.5)});
  auto step = function([&](const Value& x) {
    return Values{teacher(x, {.training = false}), teacher(x)};
  });
  std::vector<LazyTensor> results = step(ones_);
  EXPECT_EQ(results[0].tensor(), ones_);
  EXPECT_TRUE(has_zeros(results[1].tensor()));
}

TEST_P(TrainingFlag, DrawsOtherNumbersEachTimeInAnInferenceFunction) {
  Dropout dropout(0.5);
  auto noisy =
      function([&](const Value& x) { return dropout(x, {.training = true}); }, {.training = false});
  Tensor first = noisy(ones_).tensor(), second = noisy(ones_).tensor();
  EXPECT_TRUE(has_zeros(first));
  EXPECT_NE(first, second);
}

TEST_P(TrainingFlag, KeepsBatchNormalisationFromMoving) {
  BatchNormalization norm;
  Value in = Input({16});
  Model still(in, Dense(16)(norm(in, {.training = false})));
  std::vector<Tensor> before = norm.get_weights();
  still.compile({.optimizer = "sgd", .loss = "mse"});
  still.fit(normal({32, 16}, 1), normal({32, 16}, 2), {.verbose = 0});
  std::vector<Tensor> after = norm.get_weights();
  EXPECT_NE(before[0], after[0]);  // gamma learns
  EXPECT_EQ(before[2], after[2]);  // the moving mean stays
  EXPECT_EQ(before[3], after[3]);
}

TEST_P(TrainingFlag, OfAFunctionalModelIsSavedWithIt) {
  TempDir folder;
  Value in = Input({16});
  Sequential inner({Input({16}), Dropout(0.5)});
  Model model({in}, {inner(in, {.training = true}), Dropout(0.5)(in, {.training = false})});
  model.save(folder / "m.stoker");
  Model loaded = load_model(folder / "m.stoker");
  for (const Model& each : {model, loaded}) {
    std::vector<Tensor> outputs = each.predict_all(ones_), again = each.predict_all(ones_);
    EXPECT_TRUE(has_zeros(outputs[0]));
    EXPECT_NE(outputs[0], again[0]);
    EXPECT_EQ(outputs[1], ones_);
  }
}

TEST_P(TrainingFlag, DrawsInEvaluationToo) {
  Value in = Input({16});
  Model model(in, Dense(16)(Dropout(0.5)(in, {.training = true})));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_NE(model.evaluate(ones_, ones_)["loss"], model.evaluate(ones_, ones_)["loss"]);
  EXPECT_FALSE(model.summary().empty());
}

TEST_P(TrainingFlag, WorksOnTensors) {
  BatchNormalization norm;
  Dropout dropout(0.5);
  Sequential model({Input({16}), norm, dropout});
  EXPECT_FALSE(has_zeros(model(ones_)));
  EXPECT_FALSE(has_zeros(model(ones_, {.training = false})));
  std::vector<Tensor> before = norm.get_weights();
  Tensor x = normal({64, 16}, 3);
  Tensor first = model(x, {.training = true}), second = model(x, {.training = true});
  EXPECT_TRUE(has_zeros(first));
  EXPECT_NE(first, second);
  EXPECT_NE(before[2], norm.get_weights()[2]);
  norm.set_trainable(false);
  std::vector<Tensor> frozen = norm.get_weights();
  model(x, {.training = true});
  EXPECT_EQ(frozen, norm.get_weights());
}

TEST(TrainingFlagInLayers, IsSeenThroughModels) {
  OnDevice device;
  Sequential inner({Input({4}), make_layer<Mode>()});
  Layer caller = make_layer<Caller>(inner, CallOptions{.training = true});
  Value in = Input({4});
  Model model(in, caller(in));
  EXPECT_EQ(model.predict(Tensor::zeros({1, 4})), Tensor::full({1, 4}, 1));
}

}  // namespace
}  // namespace stoker
