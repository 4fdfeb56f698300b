// Own training and test steps inside of fit.
#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/weights_hash.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;
using Names = std::vector<std::string>;

class OwnSteps : public test::DeviceTest {
 protected:
  test::Data data_ = test::line(48, 3);
};
INSTANTIATE_ON_DEVICES(OwnSteps);

Sequential two_layers() {
  return Sequential({Input({2}), Dense(4, {.activation = "tanh"}), Dropout(0.1), Dense(1)});
}

// What the library does by itself, written out. By reference: a model that holds a step which holds
// the model would never go away.
OwnStep usual_step(const Sequential& model, const Optimizer& optimizer) {
  return [&model, optimizer](const Value& x, const Value& y) {
    Value loss = mean_squared_error(y, model(x));
    optimizer.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  };
}

TEST_P(OwnSteps, TrainAsTheLibrarysOwnStepDoes) {
  auto trained = [&](bool own) {
    set_seed(4);
    Sequential model = two_layers();
    Adam adam({.learning_rate = 0.02});
    if (own)
      model.compile({.optimizer = adam, .train_step = usual_step(model, adam)});
    else
      model.compile({.optimizer = adam, .loss = "mse"});
    History history = model.fit(data_.x, data_.y, {.epochs = 3, .batch_size = 20, .verbose = 0});
    EXPECT_EQ(history.names(), Names{"loss"});
    return std::pair(history["loss"], model.get_weights());
  };
  auto [own_losses, own_weights] = trained(true);
  auto [losses, weights] = trained(false);
  ASSERT_EQ(own_losses.size(), losses.size());
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(own_losses[i], losses[i], 1e-5);
  test::expect_near(own_weights, weights, 1e-4);
}

TEST_P(OwnSteps, LogNumbersAndMetricsInTheOrderOfTheirKinds) {
  Sequential model = two_layers();
  SGD sgd({.learning_rate = 0.05});
  Metric error("mean_absolute_error");
  model.compile({.optimizer = sgd,
                 .train_step = [&](const Value& x, const Value& y) -> StepLogs {
                   Value predicted = model(x), loss = mean_squared_error(y, predicted);
                   sgd.apply(gradients(loss, model.trainable_variables()),
                             model.trainable_variables());
                   error.update(y, predicted);
                   return {{"error", error}, {"loss", loss}, {"double", loss * 2.0}};
                 },
                 .test_step = [&](const Value& x, const Value& y) -> StepLogs {
                   Value predicted = model(x);
                   error.update(y, predicted);
                   return {{"loss", mean_squared_error(y, predicted)}, {"error", error}};
                 }});
  History history = model.fit(
      data_.x, data_.y,
      {.epochs = 20, .batch_size = 16, .validation_data = {data_.x, data_.y}, .verbose = 0});
  EXPECT_EQ(history.names(), (Names{"loss", "double", "error", "val_loss", "val_error"}));
  for (size_t i = 0; i < 20; ++i)
    EXPECT_NEAR(history["double"][i], 2 * history["loss"][i], 1e-5 * (1 + history["double"][i]));
  EXPECT_LT(history["val_loss"].back(), 0.5 * history["val_loss"].front());
  EXPECT_LT(history["error"].back(), history["error"].front());
  Logs logs = model.evaluate(data_.x, data_.y);
  EXPECT_NEAR(logs["loss"], history["val_loss"].back(), 1e-4);
  EXPECT_NEAR(logs["error"], history["val_error"].back(), 1e-4);
}

TEST_P(OwnSteps, ValidateByTheLossWhereThereIsOne) {
  Sequential model = two_layers();
  SGD sgd({.learning_rate = 0.05});
  model.compile(
      {.optimizer = sgd, .loss = "mse", .metrics = {"mae"}, .train_step = usual_step(model, sgd)});
  History history =
      model.fit(data_.x, data_.y, {.epochs = 2, .validation_split = 0.25, .verbose = 0});
  EXPECT_EQ(history.names(), (Names{"loss", "val_loss", "val_mae"}));
}

TEST_P(OwnSteps, OfTestingAloneLeaveTrainingAsItIs) {
  Sequential model = two_layers();
  model.compile({.optimizer = "sgd",
                 .loss = "mse",
                 .test_step = [&](const Value& x, const Value& y) -> StepLogs {
                   return {{"largest", ops::max(ops::abs(y - model(x)))}};
                 }});
  History history =
      model.fit(data_.x, data_.y, {.validation_data = {data_.x, data_.y}, .verbose = 0});
  EXPECT_EQ(history.names(), (Names{"loss", "val_largest"}));
}

// A generator of points, and a judge of them that is no part of the model.
struct Gan {
  Sequential generator{{Input({2}), Dense(6, {.activation = "tanh"}), Dense(2)}};
  Sequential judge{{Input({2}), Dense(6, {.activation = "tanh"}), Dense(1)}};
  Adam generator_adam{{.learning_rate = 0.01}}, judge_adam{{.learning_rate = 0.02}};
  Variable average{"average", Tensor::zeros({2}), {.trainable = false}};

  void compile() {
    generator.compile(
        {.optimizer = generator_adam, .train_step = [this](const Value& real) -> StepLogs {
           Value noise = ops::random::normal({real.shape()[0], 2});
           Value fake = ops::stop_gradient(generator(noise));
           Value judged = ops::mean(ops::softplus(-judge(real)) + ops::softplus(judge(fake)));
           judge_adam.apply(gradients(judged, judge.trainable_variables()),
                            judge.trainable_variables());
           Value fooled = ops::mean(ops::softplus(-judge(generator(noise))));
           generator_adam.apply(gradients(fooled, generator.trainable_variables()),
                                generator.trainable_variables());
           average.assign(Value(average) * 0.9 + ops::mean(fake, {.axes = {0}}) * 0.1);
           return {{"judged", judged}, {"fooled", fooled}};
         }});
  }
};

TEST_P(OwnSteps, TrainSeveralModelsWithSeveralOptimisers) {
  Gan gan;
  gan.compile();
  std::vector<Tensor> judge = gan.judge.get_weights(), generator = gan.generator.get_weights();
  LearningRateScheduler halves([](int64_t, double rate) { return rate / 2; });
  History history =
      gan.generator.fit(data_.x, {}, {.epochs = 3, .verbose = 0, .callbacks = {halves}});
  EXPECT_EQ(history.names(), (Names{"judged", "fooled", "learning_rate"}));
  EXPECT_NE(gan.judge.get_weights(), judge);
  EXPECT_NE(gan.generator.get_weights(), generator);
  EXPECT_EQ(gan.judge_adam.iterations(), 6);
  EXPECT_EQ(gan.generator_adam.iterations(), 6);
  EXPECT_NEAR(gan.generator_adam.learning_rate(), 0.01 / 8, 1e-7);
  EXPECT_NEAR(gan.judge_adam.learning_rate(), 0.02, 1e-7);
  EXPECT_NE(gan.average.read().at(0), 0.0);
}

TEST_P(OwnSteps, GoOnFromACheckpointAsIfNothingHadHappened) {
  for (bool dataset : {false, true}) {
    auto trained = [&](const std::string& folder, std::optional<int64_t> stop) {
      set_seed(9);
      Gan gan;
      gan.compile();
      FitArgs args{.epochs = 3, .verbose = 0};
      args.callbacks = {BackupAndRestore(folder, {.stop_after_steps = stop})};
      if (!dataset) args.batch_size = 16;
      History history =
          dataset ? gan.generator.fit(data::from_slices({data_.x}).shuffle().batch(16), args)
                  : gan.generator.fit(data_.x, {}, args);
      return std::tuple(history["judged"], history["fooled"], weights_sha256(gan.generator),
                        weights_sha256(gan.judge), gan.average.read().at(0));
    };
    test::TempDir dir;
    auto expected = trained(dir / "whole", {});
    int stops = 0;
    while (true) {
      try {
        auto got = trained(dir / "parts", 2);
        EXPECT_EQ(got, expected);
        break;
      } catch (const Interrupted&) {
        ++stops;
        ASSERT_LT(stops, 10);
      }
    }
    EXPECT_GE(stops, 4);
  }
}

TEST_P(OwnSteps, TakeAllTensorsOfABatchAsAList) {
  Sequential model = two_layers();
  SGD sgd;
  size_t tensors = 0;
  model.compile({.optimizer = sgd, .train_step = [&](const Values& batch) {
                   tensors = batch.size();
                   Value loss = ops::mean(ops::square(batch[1] - model(batch[0])) * batch[2]);
                   sgd.apply(gradients(loss, model.trainable_variables()),
                             model.trainable_variables());
                   return loss;
                 }});
  model.fit(data_.x, data_.y, {.sample_weight = Tensor::full({48, 1}, 2.0), .verbose = 0});
  EXPECT_EQ(tensors, 3U);
  model.fit(data::from_slices({data_.x, data_.y, Tensor::full({48, 1}, 2.0)}).batch(16),
            {.verbose = 0});
}

TEST_P(OwnSteps, RunOneBatchAtATimeToo) {
  Sequential model = two_layers();
  SGD sgd({.learning_rate = 0.1});
  model.compile({.optimizer = sgd, .loss = "mse", .train_step = usual_step(model, sgd)});
  double first = model.train_on_batch(data_.x, data_.y)["loss"];
  for (int step = 0; step < 20; ++step) {
    model.reset_metrics();
    model.train_on_batch(data_.x, data_.y);
  }
  EXPECT_LT(model.test_on_batch(data_.x, data_.y)["loss"], 0.5 * first);
  EXPECT_EQ(model.predict(data_.x).shape(), Shape({48, 1}));
}

TEST_P(OwnSteps, AccumulateGradients) {
  auto trained = [&](bool own) {
    set_seed(4);
    Sequential model({Input({2}), Dense(1)});
    SGD sgd({.learning_rate = 0.05, .gradient_accumulation_steps = 2});
    if (own)
      model.compile({.optimizer = sgd, .train_step = usual_step(model, sgd)});
    else
      model.compile({.optimizer = sgd, .loss = "mse"});
    model.fit(data_.x, data_.y, {.epochs = 2, .batch_size = 8, .verbose = 0});
    EXPECT_EQ(sgd.iterations(), 6);
    return model.get_weights();
  };
  test::expect_near(trained(true), trained(false), 1e-5);
}

TEST_P(OwnSteps, WithNumbersThatAreNotFiniteLeaveTheWeightsAsTheyWere) {
  Sequential model({Input({2}), Dense(1, {.kernel_initializer = "zeros"})});
  SGD sgd;
  model.compile({.optimizer = sgd, .train_step = [&](const Value& x) -> StepLogs {
                   // Finite, with a slope that is not: that of a root at 0.
                   Value loss = ops::mean(ops::sqrt(model(x)));
                   sgd.apply(gradients(loss, model.trainable_variables()),
                             model.trainable_variables());
                   return {{"loss", loss}};
                 }});
  std::vector<Tensor> before = model.get_weights();
  EXPECT_TRUE(says(error_of<NonFiniteError>([&] { model.fit(data_.x, {}, {.verbose = 0}); }),
                   {"fit: epoch 1", "not finite"}));
  EXPECT_EQ(model.get_weights(), before);
}

TEST_P(OwnSteps, AreNotSavedWithAModel) {
  test::TempDir dir;
  Sequential model = two_layers();
  SGD sgd;
  model.compile({.optimizer = sgd, .train_step = usual_step(model, sgd)});
  model.fit(data_.x, data_.y, {.verbose = 0, .callbacks = {ModelCheckpoint(dir / "m.stoker")}});
  Model loaded = load_model(dir / "m.stoker");
  EXPECT_FALSE(loaded.compiled());
  EXPECT_EQ(loaded.get_weights(), model.get_weights());
}

TEST(OwnStep, SaysWhatIsWrong) {
  test::OnDevice device;
  test::Data data = test::line(8, 3);
  Sequential model({Input({2}), Dense(1)});
  SGD sgd;
  auto fails = [&](const OwnStep& step, std::initializer_list<const char*> parts,
                   const FitArgs& args = {}) {
    model.compile({.optimizer = sgd, .train_step = step});
    FitArgs quiet = args;
    quiet.verbose = 0;
    EXPECT_TRUE(says(error_of<Error>([&] { model.fit(data.x, data.y, quiet); }), parts));
  };
  OwnStep good = [&](const Value& x, const Value& y) {
    Value loss = mean_squared_error(y, model(x));
    sgd.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  };
  fails([&](const Value& x) { return ops::mean(model(x)); },
        {"train_step takes 1 tensors", "the batch has 2"});
  fails([&](const Value& x, const Value&) { return model(x); },
        {"\"loss\"", "scalar", "ops::mean"});
  fails([&](const Value& x, const Value&) { return ops::mean(model(x)); },
        {"changes no trainable weight", "optimizer.apply"});
  fails([&](const Value&, const Value&) { return StepLogs(); }, {"returned nothing to log"});
  fails(
      [&](const Value& x, const Value&) -> StepLogs {
        Value loss = ops::mean(model(x));
        return {{"a", loss}, {"a", loss}};
      },
      {"two of its logs are named \"a\""});
  fails(good, {"neither a test_step nor a loss"}, {.validation_data = {data.x, data.y}});
  fails(good, {"class_weight", "in the step"}, {.class_weight = {{0, 2.0}}});
  fails(good, {"batch_size = Auto"}, {.batch_size = Auto});
  fails(good, {"on_out_of_memory"}, {.on_out_of_memory = OnOutOfMemory::halve});
  model.compile({.optimizer = sgd, .train_step = good});
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.evaluate(data.x, data.y); }),
                   {"evaluate", "test_step"}));
  EXPECT_TRUE(says(error_of<ShapeError>([&] { model.fit(data.x, data.y.slice(0, 4)); }),
                   {"their numbers of rows differ"}));
  Sequential unknown({Dense(1)});
  unknown.compile({.optimizer = sgd, .train_step = good});
  EXPECT_TRUE(
      says(error_of<Error>([&] { unknown.fit(data.x, data.y, {.verbose = 0}); }), {"Input(…)"}));
}

// Sums of groups of rows: values [values, 1], the group of each, and what their sums should be.
TEST(OwnStep, TakesTensorsWithDifferentNumbersOfRows) {
  test::OnDevice device;
  std::vector<Batch> batches;
  for (int64_t groups : {2, 3}) {
    std::vector<float> values, sums(size_t(groups), 0.0F);
    std::vector<int32_t> owners;
    for (int32_t group = 0; group < int32_t(groups); ++group)
      for (int32_t i = 0; i <= group; ++i) {
        values.push_back(float(i + 1));
        owners.push_back(group);
        sums[size_t(group)] += 3 * float(i + 1);
      }
    auto rows = int64_t(values.size());
    batches.push_back({Tensor::from(sums, {groups, 1}), Tensor::from(values, {rows, 1}),
                       Tensor::from(owners, {rows}), Tensor(0.5F)});
  }
  Sequential model({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  SGD sgd({.learning_rate = 0.0});
  auto error = [&](const Values& batch) {
    Value sums = ops::segment_sum(model(batch[1]), batch[2], batch[0].shape()[0]);
    return mean_squared_error(batch[0], sums) * batch[3];
  };
  model.compile({.optimizer = sgd,
                 .train_step =
                     [&](const Values& batch) {
                       Value loss = error(batch);
                       sgd.apply(gradients(loss, model.trainable_variables()),
                                 model.trainable_variables());
                       return loss;
                     },
                 .test_step = [&](const Values& batch) { return error(batch); }});
  // Sums of 3, 9 and of 3, 9, 18: the mean over five groups, half of it.
  double mean = 0.5 * (9 + 81 + 9 + 81 + 324) / 5.0;
  History history = model.fit(batches, {.validation_data = ValidationData(batches), .verbose = 0});
  EXPECT_NEAR(history["loss"][0], mean, 1e-3);
  EXPECT_NEAR(history["val_loss"][0], mean, 1e-3);
  const Batch& second = batches[1];
  model.reset_metrics();
  Logs logs = model.train_on_batch({second[0], second[1], second[2], second[3]}, {});
  EXPECT_NEAR(logs["loss"], 0.5 * (9 + 81 + 324) / 3.0, 1e-3);
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     model.train_on_batch({second[3], second[1], second[2], second[0]}, {});
                   }),
                   {"first tensor", "float32[]", "row per sample"}));
}

TEST(OwnStep, KeepsOneOptimiserThatAccumulatesInACheckpoint) {
  test::OnDevice device;
  test::TempDir dir;
  Sequential model({Input({2}), Dense(1)});
  SGD first, second({.gradient_accumulation_steps = 2});
  model.compile(
      {.optimizer = first, .train_step = [&](const Value& x) {
         Value loss = ops::mean(ops::square(model(x)));
         first.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
         second.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
         return loss;
       }});
  FitArgs args{.verbose = 0, .callbacks = {BackupAndRestore(dir / "c")}};
  EXPECT_TRUE(says(error_of<ValueError>([&] { model.fit(test::line(8, 1).x, {}, args); }),
                   {"accumulates gradients"}));
}

}  // namespace
}  // namespace stoker
