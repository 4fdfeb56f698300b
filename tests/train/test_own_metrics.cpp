// Own losses and metrics through compile, fit, evaluate, own loops and checkpoints.
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

class OwnMetrics : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(OwnMetrics);

// The root of the mean square, which no mean over batches gives.
class RootMeanSquare : public MetricBase {
 public:
  RootMeanSquare() : sum_(add_variable("sum")), count_(add_variable("count")) {}
  std::string kind() const override { return "RootMeanSquare"; }
  void update_state(const Value& y_true, const Value& y_pred, const Value& sample_weight) override {
    Value squares = ops::square(y_true - y_pred), weights = weights_of(squares, sample_weight);
    assign_add(sum_, ops::sum(squares * weights));
    assign_add(count_, ops::sum(weights));
  }
  double result() const override {
    double count = count_.read().item();
    return count == 0 ? 0 : std::sqrt(sum_.read().item() / count);
  }

 private:
  Variable sum_, count_;
};

Sequential model_with(const CompileArgs& args) {
  set_seed(4);
  Sequential model({Input({2}), Dense(1)});
  model.compile(args);
  return model;
}

Loss own_squares() {
  return {"own", [](const Value& y, const Value& p) { return ops::square(y - p); }};
}

TEST_P(OwnMetrics, SeeTargetsAsTheBuiltInOnesDo) {
  test::Data data = test::line(10, 3);
  for (const Shape& shape : {Shape{10}, Shape{10, 1}}) {
    Tensor y = data.y.reshape(shape);
    Sequential own = model_with({.optimizer = "sgd",
                                 .loss = own_squares(),
                                 .metrics = {Metric("own_mae", [](const Value& t, const Value& p) {
                                   return ops::abs(t - p);
                                 })}});
    Sequential built_in = model_with({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    History a = own.fit(data.x, y, {.epochs = 2, .batch_size = 4});
    History b = built_in.fit(data.x, y, {.epochs = 2, .batch_size = 4});
    EXPECT_NEAR(a["loss"][1], b["loss"][1], 1e-6);
    EXPECT_NEAR(a["own_mae"][1], b["mae"][1], 1e-6);
    test::expect_near(own.get_weights(), built_in.get_weights(), 1e-6);
  }
}

TEST_P(OwnMetrics, WithStateCountOverBatchesAndStartAnewEachEpoch) {
  test::Data data = test::line(10, 3);
  Sequential model = model_with({.optimizer = SGD({.learning_rate = 0}),
                                 .loss = "mse",
                                 .metrics = {make_metric<RootMeanSquare>()}});
  History history = model.fit(
      data.x, data.y,
      {.epochs = 2, .batch_size = 4, .validation_data = {data.x.slice(0, 3), data.y.slice(0, 3)}});
  for (size_t epoch : {0U, 1U}) {
    EXPECT_NEAR(history["root_mean_square"][epoch], std::sqrt(history["loss"][epoch]), 1e-5);
    EXPECT_NEAR(history["val_root_mean_square"][epoch], std::sqrt(history["val_loss"][epoch]),
                1e-5);
  }
}

TEST_P(OwnMetrics, WithStateAreWeightedWhereAskedFor) {
  test::Data data = test::line(6, 3);
  Tensor weights = Tensor::from<float>({1, 0, 2, 0.5F, 0, 3}, {6});
  Sequential model = model_with(
      {.loss = "mse", .weighted_metrics = {make_metric<RootMeanSquare>().with({.name = "rms"})}});
  Tensor p = model.predict(data.x);
  double sum = 0;
  for (int64_t i = 0; i < 6; ++i) sum += weights.at(i) * std::pow(p.at(i) - data.y.at(i), 2);
  EXPECT_NEAR(model.evaluate(data.x, data.y, {.batch_size = 4, .sample_weight = weights})["rms"],
              std::sqrt(sum / 6.5), 1e-5);
}

TEST_P(OwnMetrics, WithStateWorkInOwnLoops) {
  test::Data data = test::line(6, 3);
  Sequential model = model_with({.loss = "mse"});
  Metric metric = make_metric<RootMeanSquare>();
  auto step = function([&](Value x, Value y) { metric.update(y, model(x)); });
  for (int64_t at : {0, 3}) step(data.x.slice(at, at + 3), data.y.slice(at, at + 3));
  double expected = std::sqrt(double(model.evaluate(data.x, data.y)["loss"]));
  EXPECT_NEAR(metric.result(), expected, 1e-5);
  metric.reset();
  step(data.x, data.y.reshape({6}));
  EXPECT_NEAR(metric.result(), expected, 1e-5);
}

TEST_P(OwnMetrics, WithStateAreInCheckpoints) {
  test::Data data = test::line(12, 3);
  test::TempDir folder;
  auto train = [&](const std::vector<CallbackRef>& callbacks) {
    Sequential model = model_with(
        {.optimizer = "adam", .loss = "mse", .metrics = {make_metric<RootMeanSquare>()}});
    return model.fit(data.x, data.y, {.epochs = 2, .batch_size = 2, .callbacks = callbacks});
  };
  History whole = train({});
  auto backup = [&](std::optional<int64_t> stop) {
    return BackupAndRestore((folder.path() / "c").string(),
                            {.save_freq = 1, .stop_after_steps = stop});
  };
  EXPECT_THROW(train({backup(9)}), Interrupted);  // in the middle of the second epoch
  EXPECT_EQ(train({backup({})})["root_mean_square"], whole["root_mean_square"]);
}

TEST_P(OwnMetrics, AreSharedByNoTwoOutputs) {
  Value in = Input({2});
  Model two({in}, {Dense(1, {.name = "a"})(in), Dense(1, {.name = "b"})(in)});
  two.compile({.loss = "mse",
               .metrics = {make_metric<RootMeanSquare>(),
                           make_metric<RootMeanSquare>().with({.name = "only", .output = "b"})}});
  Tensor x = test::normal({5, 2}, 1), y = Tensor::zeros({5});
  Logs logs = two.evaluate(x, {y, y}, {.batch_size = 2});
  EXPECT_NEAR(logs["a_root_mean_square"], std::sqrt(logs["a_loss"]), 1e-5);
  EXPECT_NEAR(logs["b_root_mean_square"], std::sqrt(logs["b_loss"]), 1e-5);
  EXPECT_EQ(logs["b_only"], logs["b_root_mean_square"]);
}

}  // namespace
}  // namespace stoker
