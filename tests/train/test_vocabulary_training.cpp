// Every optimiser by name, moving averages, constraints, losses with a reduction and metrics with state,
// in trainings: on every device, saved, loaded and resumed.
#include <fmt/format.h>

#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/weights_hash.h"
#include "train/optimizers/optimizer_kinds.h"

namespace stoker {
namespace {

using namespace test;

class VocabularyTraining : public DeviceTest {
 protected:
  TempDir dir_;
  Data data_ = blobs(44, 4, 3, 7);

  static Sequential classifier(const Optimizer& optimizer, const DenseOptions& hidden = {}) {
    set_seed(3);
    Sequential model({Input({4}), Dense(6, hidden), Dropout(0.2), Activation("relu"),
                      Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = optimizer, .loss = "sparse_categorical_crossentropy"});
    return model;
  }
  double trained_loss(const Sequential& model, int64_t epochs) {
    return model.fit(data_.x, data_.y, {.epochs = epochs, .batch_size = 8, .verbose = 0})["loss"]
        .back();
  }
};
INSTANTIATE_ON_DEVICES(VocabularyTraining);

TEST_P(VocabularyTraining, EveryOptimizerTrains) {
  for (const auto& kind : optimizer_kinds()) {
    Optimizer optimizer(kind->kind);
    optimizer.set_learning_rate(kind->kind == "Adadelta" ? 5.0 : kind->kind == "Ftrl" ? 0.2 : 0.02);
    Sequential model = classifier(optimizer);
    double before = trained_loss(model, 1);
    EXPECT_LT(trained_loss(model, 8), 0.9 * before) << kind->kind;
  }
}

TEST_P(VocabularyTraining, EveryOptimizerContinuesFromAFileAsIfItHadNotStopped) {
  for (const auto& kind : optimizer_kinds()) {
    Optimizer averaging =
        Optimizer(kind->kind).with_config({{"use_ema", true}, {"ema_momentum", 0.5}});
    for (const Optimizer& optimizer : {Optimizer(kind->kind), averaging}) {
      Sequential whole = classifier(optimizer.with_config(optimizer.config()));
      Sequential first = classifier(optimizer);
      auto fit = [&](const Model& model) {
        model.fit(data_.x, data_.y, {.epochs = 2, .batch_size = 8, .verbose = 0});
      };
      fit(whole);
      fit(first);
      first.save(dir_ / "model");
      Model second = load_model(dir_ / "model");
      fit(whole);
      fit(second);
      EXPECT_EQ(weights_sha256(second), weights_sha256(whole)) << kind->kind;
    }
  }
}

TEST_P(VocabularyTraining, MovingAveragesAreTheWeightsWhenFitEnds) {
  Optimizer optimizer = SGD({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.5});
  Sequential model({Input({2}), Dense(1, {.use_bias = false})});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  Data points = line(8, 2);
  Variable kernel = model.trainable_variables()[0];
  Tensor average;
  for (int step = 0; step < 3; ++step) {
    model.train_on_batch(points.x, points.y);
    Tensor now = kernel.read();
    if (step == 0) average = now;
    for (int64_t i = 0; step > 0 && i < 2; ++i)
      average.data_mut<float>()[i] = 0.5F * average.data<float>()[i] + 0.5F * now.data<float>()[i];
    expect_near(optimizer.average(kernel).read(), average, 1e-6);
  }
  model.fit(points.x, points.y, {.epochs = 1, .verbose = 0});
  expect_near(kernel.read(), optimizer.average(kernel).read(), 0);
}

TEST_P(VocabularyTraining, SwapEMAWeightsEvaluatesTheAverages) {
  Optimizer optimizer = SGD({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.9});
  Sequential model = classifier(optimizer);
  std::vector<Tensor> raw, evaluated;
  LambdaCallback look({.on_epoch_end = [&](int64_t, const Logs&) { raw = model.get_weights(); },
                       .on_test_begin = [&] { evaluated = model.get_weights(); }});
  model.fit(data_.x, data_.y,
            {.epochs = 2,
             .validation_data = {data_.x, data_.y},
             .verbose = 0,
             .callbacks = {SwapEMAWeights(), look}});
  EXPECT_NE(raw[0].at(0), evaluated[0].at(0));
  expect_near(model.get_weights(), evaluated, 0);  // fit ends with them

  model.fit(
      data_.x, data_.y,
      {.epochs = 2, .verbose = 0, .callbacks = {SwapEMAWeights({.swap_on_epoch = true}), look}});
  expect_near(model.get_weights(), raw, 0);  // what the last epoch's end saw was the averages
}

TEST_P(VocabularyTraining, SwapEMAWeightsNeedsAverages) {
  Sequential model = classifier("sgd");
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     model.fit(data_.x, data_.y, {.verbose = 0, .callbacks = {SwapEMAWeights()}});
                   }),
                   {"SwapEMAWeights", "use_ema = true"}));
  EXPECT_TRUE(says(error_of<ValueError>([] { SGD({.ema_overwrite_frequency = 2}); }),
                   {"ema_overwrite_frequency", "use_ema"}));
}

TEST_P(VocabularyTraining, WeightDecayLeavesOutWhatIsExcluded) {
  for (bool clips : {false, true}) {
    AdamWOptions options{.learning_rate = 0.01, .weight_decay = 0.5};
    if (clips) options.clipnorm = 0.1;
    AdamWOptions plain = options;
    plain.weight_decay = 0.0;
    Optimizer by_name = AdamW(options), without = AdamW(plain), all = AdamW(options);
    by_name.exclude_from_weight_decay({}, {"kernel"});
    std::vector<Variable> kernels, biases;
    for (const Optimizer& optimizer : {by_name, without, all}) {
      Variable kernel("a/kernel", normal({3, 2}, 1)), bias("a/bias", normal({2}, 2));
      auto step = function([&](Value g) {
        std::vector<Variable> both = {kernel, bias};
        optimizer.apply(gradients(ops::sum(ops::square(kernel)) + ops::sum(bias * g), both), both);
      });
      for (int i = 0; i < 3; ++i) step(Tensor(0.5F));
      kernels.push_back(kernel);
      biases.push_back(bias);
    }
    expect_near(kernels[0].read(), kernels[1].read(), 1e-6);
    expect_near(biases[0].read(), biases[2].read(), 1e-6);
    EXPECT_NE(kernels[0].read().at(0), kernels[2].read().at(0));
  }
}

TEST_P(VocabularyTraining, ExclusionsAreKeptInFilesAndComeFirst) {
  Optimizer optimizer = AdamW({.weight_decay = 0.5});
  Variable listed("dense.1/kernel", Tensor(1.0F));
  optimizer.exclude_from_weight_decay({listed}, {"bias|gamma"});
  EXPECT_EQ(optimizer.config().get<std::string>("exclude_from_weight_decay"),
            "bias|gamma|^dense\\.1/kernel$");
  EXPECT_EQ(optimizer.with_config(optimizer.config()).config(), optimizer.config());
  EXPECT_TRUE(says(error_of<ValueError>([&] { optimizer.exclude_from_weight_decay({}, {"("}); }),
                   {"\"(\"", "regular expression"}));
  optimizer.build({listed});
  EXPECT_TRUE(says(error_of<Error>([&] { optimizer.exclude_from_weight_decay({listed}); }),
                   {"before the first compile()"}));
}

double norm_of_column(const Tensor& matrix, int64_t column) {
  double sum = 0;
  for (int64_t row = 0; row < matrix.shape()[0]; ++row)
    sum += std::pow(matrix.at(row * matrix.shape()[1] + column), 2);
  return std::sqrt(sum);
}

TEST_P(VocabularyTraining, ConstraintsHoldAfterEveryUpdateOfEveryOptimizer) {
  for (const char* name : {"sgd", "adam", "rmsprop", "nadam"}) {
    Sequential model =
        classifier(name, {.kernel_constraint = MaxNorm(0.5), .bias_constraint = "non_neg"});
    std::vector<Variable> weights = model.trainable_variables();
    for (int step = 0; step < 3; ++step) {
      model.train_on_batch(data_.x, data_.y);
      for (int64_t column = 0; column < 6; ++column)
        EXPECT_LE(norm_of_column(weights[0].read(), column), 0.5 + 1e-5) << name;
      for (int64_t i = 0; i < 6; ++i) EXPECT_GE(weights[1].read().at(i), 0) << name;
    }
  }
}

TEST_P(VocabularyTraining, AConstraintOfOneWeightLeavesTheOthersAlone) {
  std::vector<Tensor> plain, constrained;
  for (auto* weights : {&plain, &constrained}) {
    DenseOptions hidden;
    if (weights == &constrained) hidden.bias_constraint = [](const Value& w) { return w * 1.0; };
    Sequential model = classifier("adam", hidden);
    trained_loss(model, 1);
    *weights = model.get_weights();
  }
  expect_near(constrained, plain, 1e-6);
}

TEST_P(VocabularyTraining, ConstraintsAndRegularizersAreSavedWithTheirLayers) {
  Sequential model =
      classifier("sgd", {.kernel_regularizer = OrthogonalRegularizer(0.25, "columns"),
                         .kernel_constraint = MinMaxNorm({.min_value = 0.5, .rate = 0.75})});
  model.save(dir_ / "model");
  Model loaded = load_model(dir_ / "model");
  for (const Model& each : {Model(model), loaded})
    each.fit(data_.x, data_.y, {.epochs = 1, .batch_size = 8, .shuffle = false, .verbose = 0});
  expect_near(loaded.get_weights(), model.get_weights(), 1e-6);

  Sequential own = classifier("sgd", {.kernel_constraint = [](const Value& w) { return w * 0.5; }});
  own.save(dir_ / "own");
  EXPECT_TRUE(says(error_of<Error>([&] { load_model(dir_ / "own"); }),
                   {"constraint", "C++ function", "custom_objects.layers"}));
}

TEST_P(VocabularyTraining, AnOwnRegularizerCountsOnceHoweverOftenItsLayerIsCalled) {
  int calls = 0;
  Layer shared = Dense(
      4,
      {.use_bias = false, .kernel_initializer = "ones", .kernel_regularizer = [&](const Value& w) {
         ++calls;
         return ops::sum(ops::square(ops::square(ops::square(w)))) * 0.5;
       }});
  Input x({4});
  Model model({x}, {shared(shared(x))});
  model.compile({.loss = "mse"});
  Tensor zeros = Tensor::zeros({2, 4});
  EXPECT_NEAR(model.evaluate(zeros, zeros, {.verbose = 0})["loss"], 8, 1e-5);
}

TEST_P(VocabularyTraining, LossesReduceAsTheyAreToldTo) {
  Sequential model({Input({2}), Dense(1, {.kernel_initializer = "zeros"})});
  Tensor x = Tensor::zeros({4, 2}), y = Tensor::from<float>({1, 2, 3, 4}, {4, 1});
  model.compile({.loss = MeanSquaredError({.reduction = "sum"})});
  EXPECT_NEAR(model.evaluate(x, y, {.batch_size = 4, .verbose = 0})["loss"], 30, 1e-4);
  EXPECT_TRUE(says(error_of<ValueError>(
                       [&] { model.compile({.loss = MeanSquaredError({.reduction = "none"})}); }),
                   {"MeanSquaredError", "\"none\"", "sum_over_batch_size"}));
  model.compile({.loss = MeanSquaredError({.reduction = "sum"})});
  model.save(dir_ / "model");
  EXPECT_NEAR(load_model(dir_ / "model").evaluate(x, y, {.batch_size = 4, .verbose = 0})["loss"],
              30, 1e-4);
}

TEST_P(VocabularyTraining, IgnoredClassesAreNeitherLostNorRefused) {
  Sequential model({Input({2}), Dense(3)});
  model.compile(
      {.loss = SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = 255})});
  Tensor x = normal({4, 2}, 1);
  auto evaluate = [&](std::vector<int32_t> ids, const std::vector<int64_t>& rows) {
    Tensor y = Tensor::from(ids, {int64_t(ids.size())});
    return model.evaluate(x.gather(rows), y, {.verbose = 0})["loss"];
  };
  EXPECT_NEAR(evaluate({0, 255, 2, 255}, {0, 1, 2, 3}), evaluate({0, 2}, {0, 2}), 1e-6);
  EXPECT_TRUE(std::isnan(evaluate({0, 255, 3, 255}, {0, 1, 2, 3})));
}

TEST_P(VocabularyTraining, MetricsOfOutputsWithoutAKnownLengthAreBuiltByTheirFirstBatch) {
  Sequential model({Input({-1, 2}), Dense(3, {.activation = "softmax"})});
  model.compile({.loss = "categorical_crossentropy", .metrics = {F1Score()}});
  Tensor y = Tensor::zeros({2, 4, 3});
  for (int64_t row = 0; row < 8; ++row) y.data_mut<float>()[row * 3 + row % 3] = 1;
  Logs scores = model.evaluate(normal({2, 4, 2}, 1), y);
  EXPECT_GE(scores["f1_score"], 0);
  EXPECT_LE(scores["f1_score"], 1);
}

// 44 samples in batches of 8: the last batch has 4.
TEST_P(VocabularyTraining, MetricsWithStateAreTheSameOverAnyBatches) {
  Sequential model = classifier("sgd");
  Tensor one_hot = Tensor::zeros({44, 3});
  for (int64_t row = 0; row < 44; ++row)
    one_hot.data_mut<float>()[row * 3 + data_.y.data<int32_t>()[row]] = 1;
  model.compile({.loss = "categorical_crossentropy",
                 .metrics = {"auc", AUC({.name = "labels", .multi_label = true}), F1Score(),
                             Precision({.class_id = 1}), R2Score(), OneHotMeanIoU(3),
                             "root_mean_squared_error", "cosine_similarity"},
                 .weighted_metrics = {TruePositives()}});
  Tensor weights = Tensor::full({44}, 0.5);
  auto evaluate = [&](int64_t batch) {
    return model.evaluate(data_.x, one_hot, {.batch_size = batch, .sample_weight = weights});
  };
  Logs whole = evaluate(44), parts = evaluate(8);
  ASSERT_EQ(whole.size(), 10U);
  for (const std::string& name : whole.names())
    EXPECT_NEAR(parts[name], whole[name], 1e-5 * (1 + std::abs(whole[name]))) << name;
}

}  // namespace
}  // namespace stoker
