// Models whose outputs, some or all, have no loss of compile().
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;
using Names = std::vector<std::string>;

// Adds the mean square of its input to the loss, and passes it on.
class Shrink : public LayerBase {
 public:
  std::string kind() const override { return "Shrink"; }
  Values call(const Values& inputs, CallContext& context) override {
    context.add_loss(ops::mean(ops::square(inputs[0])));
    return inputs;
  }
};

Tensor rows(int64_t count) { return test::line(count, 1).x; }

class MissingLosses : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(MissingLosses);

TEST_P(MissingLosses, AModelTrainsByWhatItsLayersAdd) {
  Sequential model({Input({2}), Dense(3), make_layer<Shrink>()});
  model.compile({.optimizer = SGD({.learning_rate = 0.3})});
  Tensor x = rows(32);
  History history = model.fit(x, {}, {.epochs = 30, .validation_split = 0.25, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.1 * history["loss"].front());
  EXPECT_EQ(history.names(), (Names{"loss", "val_loss"}));
  EXPECT_NEAR(model.evaluate(x, {})["loss"], history["loss"].back(), 0.01);
  model.fit(data::from_slices(x).batch(8), {.verbose = 0});
  EXPECT_TRUE(model.memory_plan(8).has_value());
}

TEST_P(MissingLosses, RegularisersAloneAreALoss) {
  Sequential model({Input({2}), Dense(3, {.kernel_regularizer = L2(0.1)})});
  model.compile({.optimizer = SGD({.learning_rate = 0.1})});
  History history = model.fit(rows(8), {}, {.epochs = 5, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
}

TEST_P(MissingLosses, AnOutputWithoutOneTakesNoTarget) {
  Value in = Input({2}), features = Dense(3, {.name = "features"})(in);
  Model model({in}, {features, Dense(1, {.name = "line"})(features)});
  model.compile(
      {.optimizer = SGD({.learning_rate = 0.05}), .loss = {Loss(), "mse"}, .metrics = {"mae"}});
  test::Data data = test::line(64, 3);
  History history = model.fit(data.x, data.y, {.epochs = 40, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.1 * history["loss"].front());
  EXPECT_EQ(history.names(), (Names{"loss", "mae"}));
  Tensor weights = Tensor::full({64}, 2.0);
  double once = model.evaluate(data.x, data.y)["loss"];
  EXPECT_NEAR(model.evaluate(data.x, data.y, {.sample_weight = weights})["loss"], 2 * once,
              1e-4 * once);
  EXPECT_EQ(model.predict_all(data.x).size(), 2U);
}

TEST_P(MissingLosses, AreKeptByFiles) {
  test::TempDir dir;
  Value in = Input({2});
  Model model({in}, {Dense(2)(in), Dense(1)(in), Dense(1)(in)});
  model.compile({.optimizer = "sgd", .loss = {"mse", Loss(), "mae"}});
  test::Data data = test::line(16, 3);
  model.fit(data.x, {Tensor::zeros({16, 2}), data.y}, {.verbose = 0});
  model.save(dir / "m.stoker");
  Model loaded = load_model(dir / "m.stoker");
  for (const Model& each : {model, loaded})
    each.fit(data.x, {Tensor::zeros({16, 2}), data.y},
             {.epochs = 2, .initial_epoch = 1, .verbose = 0});
  EXPECT_EQ(loaded.get_weights(), model.get_weights());
}

TEST_P(MissingLosses, ThatLeaveNothingToTrainBySaySo) {
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd"});
  EXPECT_TRUE(says(error_of<Error>([&] { model.fit(rows(8), {}, {.verbose = 0}); }),
                   {"nothing to minimise"}));
  EXPECT_EQ(model.evaluate(rows(8), {})["loss"], 0);
  for (auto run : {+[](const Model& m) { m.fit(rows(8), rows(8), {.verbose = 0}); },
                   +[](const Model& m) { m.train_on_batch(rows(8), rows(8)); },
                   +[](const Model& m) {
                     m.fit(data::from_slices({rows(8), rows(8)}).batch(4), {.verbose = 0});
                   }})
    EXPECT_TRUE(says(error_of<ValueError>([&] { run(model); }), {"compile() was given no loss"}));
}

TEST_P(MissingLosses, LeaveMetricsWithoutTargets) {
  Value in = Input({2});
  Model model({in}, {Dense(1, {.name = "a"})(in), Dense(1, {.name = "b"})(in)});
  EXPECT_TRUE(
      says(error_of<ValueError>([&] {
             model.compile({.loss = {Loss(), "mse"}, .metrics = {Accuracy({.output = "a"})}});
           }),
           {"output \"a\" has no loss"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.compile({.metrics = {"mae"}}); }),
                   {"metric \"mae\" needs targets"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.compile({.optimizer = "sgd"});
                     model.fit(rows(8), {}, {.class_weight = {{1, 2.0}}, .verbose = 0});
                   }),
                   {"class_weight"}));
}

}  // namespace
}  // namespace stoker
