// compare(): figures that add up, models that stay as they are, and errors.
#include <stoker/compare.h>
#include <stoker/prune.h>

#include <nlohmann/json.hpp>

#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

Model classifier(int64_t width, const char* name, int64_t classes = 3) {
  return Sequential(
      {Input({8}), Dense(width, {.activation = "relu", .name = "hidden"}), Dropout(0.5),
       BatchNormalization(), Dense(classes, {.activation = "softmax", .name = "head"})},
      {.name = name});
}

CompileArgs settings() {
  return {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}};
}

CompareOptions quick() { return {.seconds = 0.05}; }

class Compare : public DeviceTest {
 protected:
  Data data_ = blobs(80, 8, 3, 5);
  data::Dataset batches_ = data::from_slices({data_.x, data_.y}).batch(32);
};
INSTANTIATE_ON_DEVICES(Compare);

TEST_P(Compare, HasTheCostsAndTheQualityOfEveryModel) {
  Model large = classifier(64, "large"), small = classifier(8, "small");
  large.compile(settings());
  small.compile(settings());
  large.fit(data_.x, data_.y, {.epochs = 3, .verbose = 0});
  Comparison c = compare({{"large", large}, {"small", small}}, batches_, quick());
  ASSERT_EQ(c.models.size(), 2U);
  const ModelFigures &a = c.models[0], &b = c.models[1];
  EXPECT_EQ(a.parameters, large.count_params());
  EXPECT_EQ(b.flops, count_flops(small));
  EXPECT_EQ(c.samples, 80);
  EXPECT_EQ(c.batch_size, 32);
  for (const ModelFigures& each : c.models) {
    EXPECT_GT(each.training.seconds, 0);
    EXPECT_LE(each.training.low, each.training.seconds);
    EXPECT_GE(each.training.high, each.training.seconds);
    EXPECT_GT(each.inference.samples_per_second, 0);
    EXPECT_GT(each.training_bytes, each.inference_bytes);
    EXPECT_GT(each.file_bytes, 4 * each.parameters);
  }
  EXPECT_EQ(a.training.speedup, 1);
  Logs logs = large.evaluate(batches_);
  EXPECT_NEAR(a.metrics[0].second, logs["loss"], 1e-5);
  EXPECT_EQ(a.metrics[1].first, "accuracy");
  EXPECT_NEAR(a.metrics[1].second, logs["accuracy"], 1e-6);
}

TEST_P(Compare, LeavesTheModelsAsTheyAre) {
  Model model = classifier(16, "model"), other = classifier(4, "other");
  model.compile(settings());
  std::vector<Tensor> weights = model.get_weights(), others = other.get_weights();
  (void)compare({{"model", model}, {"other", other}}, batches_, quick());
  EXPECT_EQ(model.get_weights(), weights);
  EXPECT_EQ(other.get_weights(), others);
  EXPECT_EQ(model.optimizer().kind(), "SGD");
  EXPECT_EQ(model.optimizer().iterations(), 0);
  EXPECT_FALSE(other.compiled());
}

TEST(CompareAgreement, IsTheShareOfSameDecisions) {
  OnDevice device;
  Data data = blobs(50, 8, 3, 5);
  Model a = classifier(16, "a"), b = classifier(4, "b");
  Comparison c =
      compare({{"a", a}, {"b", b}}, data::from_slices({data.x}).batch(16), {.seconds = 0});
  Tensor p = a.predict(data.x), q = b.predict(data.x);
  int same = 0;
  auto top = [](const Tensor& t, int64_t row) {
    int64_t best = 0;
    for (int64_t i = 1; i < 3; ++i)
      if (t.at(row * 3 + i) > t.at(row * 3 + best)) best = i;
    return best;
  };
  for (int64_t row = 0; row < 50; ++row) same += top(p, row) == top(q, row);
  EXPECT_NEAR(c.agreement[0][1], same / 50.0, 1e-9);
  EXPECT_EQ(c.agreement[0][0], 1);
  EXPECT_EQ(c.agreement_of, "classes");
  EXPECT_TRUE(c.models[0].metrics.empty());  // no targets, no loss
  EXPECT_EQ(c.models[0].inference.seconds, 0);
}

TEST(CompareAgreement, OfNumbersIsTheirCorrelation) {
  OnDevice device;
  Data data = line(64, 3);
  Sequential a({Input({2}), Dense(1)}), b({Input({2}), Dense(1)});
  std::vector<Tensor> weights = a.get_weights();
  b.set_weights({weights[0], Tensor::full({1}, 5.0)});  // moved, else the same
  a.compile({.optimizer = "sgd", .loss = "mse"});
  Comparison c =
      compare({{"a", a}, {"b", b}}, data::from_slices({data.x, data.y}).batch(16), {.seconds = 0});
  EXPECT_EQ(c.agreement_of, "numbers");
  EXPECT_NEAR(c.agreement[0][1], 1, 1e-5);
  EXPECT_NE(c.models[0].metrics[0].second, c.models[1].metrics[0].second);
}

TEST(CompareReports, TextJsonAndPageSayTheSame) {
  OnDevice device;
  Data data = blobs(64, 8, 3, 5);
  Model large = classifier(64, "large"), small = classifier(8, "<b>small</b>");
  large.compile(settings());
  auto batches = data::from_slices({data.x, data.y}).batch(32);
  double predicted = predict_speedup(large, small, Batch{data.x, data.y});
  EXPECT_GT(predicted, 1);
  EXPECT_LT(predicted, 20);
  Comparison c = compare({{"large", large}, {"</script>", small, predicted}}, batches, quick());
  EXPECT_TRUE(says(c.text(), {"large", "parameters", "MFLOP per sample", "training, ms per step",
                              "agrees with large", "accuracy", "predicted", "fewer parameters"}));
  nlohmann::json json = nlohmann::json::parse(c.json());
  EXPECT_EQ(json["models"][1]["parameters"], small.count_params());
  EXPECT_EQ(json["models"][1]["predicted_speedup"], predicted);
  EXPECT_TRUE(json["models"][1].contains("prediction_error"));
  std::string page = c.html();
  EXPECT_TRUE(says(page, {"<!doctype html>", "\"comparison\"", "Models compared"}));
  EXPECT_EQ(page.find("\"</script>"), std::string::npos);
}

TEST(CompareModels, ThatCannotTrainAreComparedInInference) {
  OnDevice device;
  Data data = blobs(64, 8, 3, 5);
  Model model = classifier(16, "model"), frozen = classifier(16, "frozen");
  model.compile(settings());
  frozen.set_trainable(false);
  Comparison c = compare({{"model", model}, {"frozen", frozen}},
                         data::from_slices({data.x, data.y}).batch(32), quick());
  EXPECT_GT(c.models[0].training.seconds, 0);
  EXPECT_EQ(c.models[1].training.seconds, 0);
  EXPECT_GT(c.models[1].inference.seconds, 0);
  EXPECT_TRUE(says(c.text(), {"frozen: no training steps"}));
}

TEST(ComparePruned, CountsZerosAndChannels) {
  OnDevice device;
  Data data = blobs(64, 8, 3, 5);
  Model model = classifier(32, "model");
  model.compile(settings());
  prune(model, {.kind = PruneKind::channels, .sparsity = 0.5});
  Comparison c = compare({{"masked", model}, {"stripped", strip(model)}},
                         data::from_slices({data.x, data.y}).batch(32), {.seconds = 0});
  EXPECT_GT(c.models[0].zero_share, 0.3);
  EXPECT_LT(c.models[1].parameters, c.models[0].parameters);
  EXPECT_EQ(c.agreement[0][1], 1);
  EXPECT_NEAR(c.models[0].metrics[0].second, c.models[1].metrics[0].second, 1e-5);
}

TEST(CompareErrors, NameWhatDoesNotFit) {
  OnDevice device;
  Data data = blobs(16, 8, 3, 5);
  auto batches = data::from_slices({data.x, data.y}).batch(8);
  Model model = classifier(4, "model");
  model.compile(settings());
  EXPECT_TRUE(says(error_of<ValueError>([&] { compare({}, batches); }), {"at least one model"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     compare({{"a", model}, {"a", classifier(5, "b")}}, batches);
                   }),
                   {"two models are named \"a\""}));
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     compare({{"a", model}, {"b", classifier(5, "b", 4)}}, batches);
                   }),
                   {"output 0", "\"a\"", "\"b\""}));
  Sequential wide({Input({9}), Dense(3, {.activation = "softmax"})});
  EXPECT_TRUE(says(error_of<ShapeError>([&] {
                     compare({{"a", model}, {"w", wide}}, batches);
                   }),
                   {"input 0"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     compare({{"a", model}}, data::from_slices({data.x, data.y}).take(0).batch(8));
                   }),
                   {"compare"}));
  EXPECT_THROW(compare({{"a", model}}, batches, {.seconds = std::nan("")}), ValueError);
  EXPECT_THROW(compare({{"a", model}}, batches, {.batch_size = 0}), ValueError);
}

}  // namespace
}  // namespace stoker
