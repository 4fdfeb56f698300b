#include "train/helpers.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

struct Recorder : Callback {
  std::string calls;
  void on_train_begin() override { calls += "<"; }
  void on_train_end(const Logs& logs) override { calls += logs.has("val_loss") ? ">" : "?"; }
  void on_epoch_begin(int64_t epoch) override { calls += "[" + std::to_string(epoch); }
  void on_epoch_end(int64_t, const Logs& logs) override {
    calls += logs.has("val_loss") ? "v]" : "]";
  }
  void on_train_batch_begin(int64_t) override { calls += "("; }
  void on_train_batch_end(int64_t batch, const Logs&) override {
    calls += std::to_string(batch) + ")";
  }
  void on_test_begin() override { calls += "{"; }
  void on_test_end(const Logs&) override { calls += "}"; }
  void on_test_batch_end(int64_t, const Logs&) override { calls += "t"; }
  void on_predict_begin() override { calls += "p"; }
  void on_predict_batch_end(int64_t) override { calls += "b"; }
  void on_predict_end() override { calls += "e"; }
};

TEST(Callbacks, AreCalledInKerasOrder) {
  OnDevice device;
  test::Data data = test::line(6, 1);
  Sequential model = test::line_model();
  Recorder recorder;
  model.fit(
      data.x, data.y,
      {.epochs = 2, .batch_size = 3, .validation_data = {data.x, data.y}, .callbacks = {recorder}});
  EXPECT_EQ(recorder.calls, "<[0(0)(1){tt}v][1(0)(1){tt}v]>");
  recorder.calls.clear();
  model.evaluate(data.x, data.y, {.callbacks = {recorder}});
  model.predict(data.x, {.batch_size = 4, .callbacks = {recorder}});
  EXPECT_EQ(recorder.calls, "{t}pbbe");
  EXPECT_TRUE(says(error_of<Error>([&] { recorder.model(); }), {"no model"}));
}

TEST(Callbacks, LogsAreReadOnlyWhenSomebodyLooks) {
  OnDevice device;
  test::Data data = test::line(40, 1);
  Sequential model = test::line_model();
  auto reads = [&] { return ModelAccess::base(model).trainer->compiled->training->reads(); };
  Recorder silent;
  model.fit(data.x, data.y, {.batch_size = 4, .callbacks = {silent}});
  EXPECT_EQ(reads(), 1);  // at the end of the epoch
  std::vector<double> losses;
  LambdaCallback reader({.on_train_batch_end = [&](int64_t, const Logs& logs) {
    losses.push_back(logs["loss"]);
    EXPECT_EQ(logs["loss"], losses.back());
  }});
  model.fit(data.x, data.y, {.batch_size = 4, .callbacks = {reader}});
  EXPECT_EQ(reads(), 11);  // ten batches; the last is the epoch's
  EXPECT_EQ(losses.size(), 10U);
}

TEST(Callbacks, CanStopTheTraining) {
  OnDevice device;
  test::Data data = test::line(12, 1);
  Sequential model = test::line_model();
  struct Stopper : Callback {
    void on_train_batch_end(int64_t batch, const Logs&) override {
      if (batch == 1) model().stop_training();
    }
  };
  History history =
      model.fit(data.x, data.y, {.epochs = 5, .batch_size = 3, .callbacks = {Stopper()}});
  EXPECT_EQ(history.epochs().size(), 1U);
  EXPECT_EQ(model.optimizer().iterations(), 2);
  EXPECT_EQ(model.fit(data.x, data.y, {.epochs = 2}).epochs().size(),
            2U);  // the next fit starts afresh
}

TEST(Callbacks, CanSetTheLearningRate) {
  OnDevice device;
  test::Data data = test::line(4, 1);
  Sequential model = test::line_model(0.5);
  LambdaCallback schedule({.on_epoch_begin = [&](int64_t epoch) {
    model.optimizer().set_learning_rate(epoch == 0 ? 0.1 : 0.0);
  }});
  std::vector<Tensor> start = model.get_weights(), after_first;
  LambdaCallback spy({.on_epoch_end = [&](int64_t epoch, const Logs&) {
    if (epoch == 0) after_first = model.get_weights();
  }});
  model.fit(data.x, data.y, {.epochs = 3, .callbacks = {schedule, spy}});
  EXPECT_NE(after_first, start);
  EXPECT_EQ(model.get_weights(), after_first);
}

TEST(EarlyStopping, EndsWhenNothingImproves) {
  OnDevice device;
  test::Data data = test::line(16, 1);
  Sequential model = test::line_model(0);  // never improves
  EarlyStopping stopping({.monitor = "loss", .patience = 2});
  History history =
      model.fit(data.x, data.y, {.epochs = 10, .shuffle = false, .callbacks = {stopping}});
  EXPECT_EQ(history.epochs().size(), 3U);
  EXPECT_EQ(stopping.stopped_epoch(), 2);
  EXPECT_EQ(stopping.best_epoch(), 0);
}

TEST(EarlyStopping, RestoresTheBestWeights) {
  OnDevice device;
  test::Data data = test::line(16, 1);
  Sequential model = test::line_model(0.05);
  std::vector<Tensor> best;
  LambdaCallback ruin({.on_epoch_begin =
                           [&](int64_t epoch) {
                             if (epoch == 2)
                               model.optimizer().set_learning_rate(3.0);  // diverges from here on
                           },
                       .on_epoch_end =
                           [&](int64_t epoch, const Logs&) {
                             if (epoch == 1) best = model.get_weights();
                           }});
  EarlyStopping stopping({.patience = 1, .restore_best_weights = true});
  History history =
      model.fit(data.x, data.y,
                {.epochs = 10, .validation_data = {data.x, data.y}, .callbacks = {ruin, stopping}});
  EXPECT_EQ(history.epochs().size(), 3U);
  EXPECT_EQ(model.get_weights(), best);
}

TEST(EarlyStopping, KnowsWhichWayIsBetter) {
  EXPECT_TRUE(says(error_of<ValueError>([] { EarlyStopping({.mode = "up"}); }),
                   {"up", "auto, min or max"}));
  OnDevice device;
  test::Data data = test::line(4, 1);
  Sequential model = test::line_model();
  EXPECT_TRUE(says(
      error_of<ValueError>([&] { model.fit(data.x, data.y, {.callbacks = {EarlyStopping()}}); }),
      {"val_loss", "loss"}));
}

}  // namespace
}  // namespace stoker
