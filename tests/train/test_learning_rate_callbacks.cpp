#include <sstream>

#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

double lr_schedule(int64_t epoch, double lr) { return epoch < 2 ? lr : lr * 0.5; }

TEST(LearningRateScheduler, TakesTheRateSoFarAndLeavesAHistory) {
  OnDevice device;
  test::Data data = test::line(4, 1);
  Sequential model = test::line_model(0.5);
  History history =
      model.fit(data.x, data.y, {.epochs = 4, .callbacks = {LearningRateScheduler(lr_schedule)}});
  EXPECT_EQ(history["learning_rate"], (std::vector<double>{0.5, 0.5, 0.25, 0.125}));
  EXPECT_EQ(model.optimizer().learning_rate(), 0.125);
}

TEST(LearningRateScheduler, TakesTheEpochAlone) {
  OnDevice device;
  test::Data data = test::line(4, 1);
  Sequential model = test::line_model(0.5);
  std::ostringstream out;
  default_context().out = &out;
  LearningRateScheduler scheduler([](int64_t epoch) { return epoch == 0 ? 0.25 : 0.0; },
                                  {.verbose = 1});
  History history = model.fit(data.x, data.y, {.epochs = 2, .callbacks = {scheduler}});
  EXPECT_EQ(history["learning_rate"], (std::vector<double>{0.25, 0.0}));
  EXPECT_TRUE(says(out.str(), {"Epoch 2: the learning rate is 0\n", "learning_rate 0.2500"}));
}

TEST(LearningRateScheduler, RefusesARateThatIsNone) {
  OnDevice device;
  test::Data data = test::line(4, 1);
  Sequential model = test::line_model(0.5);
  LearningRateScheduler scheduler([](int64_t) { return -1.0; });
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { model.fit(data.x, data.y, {.callbacks = {scheduler}}); }),
           {"learning_rate", "-1"}));
  EXPECT_THROW(LearningRateScheduler(std::function<double(int64_t)>()), ValueError);
}

// A fit whose loss is what the list says: the logs are made by hand.
std::vector<double> rates_after(ReduceLROnPlateau& plateau, const std::vector<double>& losses) {
  Sequential model = test::line_model(1.0);
  plateau.set_model(&model);
  plateau.on_train_begin();
  std::vector<double> rates;
  for (size_t epoch = 0; epoch < losses.size(); ++epoch) {
    plateau.on_epoch_end(int64_t(epoch), Logs({{"val_loss", losses[epoch]}}));
    rates.push_back(model.optimizer().learning_rate());
  }
  plateau.set_model(nullptr);
  return rates;
}

TEST(ReduceLROnPlateau, ReducesWhenNothingImproves) {
  OnDevice device;
  ReduceLROnPlateau plateau({.factor = 0.5, .patience = 2});
  EXPECT_EQ(rates_after(plateau, {1, 0.5, 0.5, 0.49995, 0.4, 0.4, 0.4}),
            (std::vector<double>{1, 1, 1, 0.5, 0.5, 0.5, 0.25}));
}

TEST(ReduceLROnPlateau, WaitsForItsCooldownAndStopsAtItsLeast) {
  OnDevice device;
  ReduceLROnPlateau plateau({.factor = 0.5, .patience = 1, .cooldown = 2, .min_lr = 0.375});
  EXPECT_EQ(rates_after(plateau, {1, 1, 1, 1, 1, 1, 1, 1}),
            (std::vector<double>{1, 0.5, 0.5, 0.375, 0.375, 0.375, 0.375, 0.375}));
}

TEST(ReduceLROnPlateau, GoesOnFromItsState) {
  OnDevice device;
  ReduceLROnPlateau first({.factor = 0.5, .patience = 3}), second({.factor = 0.5, .patience = 3});
  rates_after(first, {1, 1, 1});
  Sequential model = test::line_model(1.0);
  second.set_model(&model);
  second.on_train_begin();
  second.restore(first.state());
  second.on_epoch_end(3, Logs({{"val_loss", 1.0}}));
  EXPECT_EQ(model.optimizer().learning_rate(), 0.5);
  EXPECT_TRUE(says(error_of<ValueError>([&] { second.restore({}); }), {"best"}));
}

TEST(ReduceLROnPlateau, PutsTheRateIntoTheHistory) {
  OnDevice device;
  test::Data data = test::line(4, 1);
  Sequential model = test::line_model(0);  // never improves
  model.optimizer().set_learning_rate(1e-9);
  ReduceLROnPlateau plateau({.monitor = "loss", .factor = 0.5, .patience = 1});
  History history = model.fit(data.x, data.y, {.epochs = 3, .callbacks = {plateau}});
  EXPECT_EQ(history["learning_rate"],
            (std::vector<double>{double(1e-9F), double(1e-9F), double(0.5F * 1e-9F)}));
  EXPECT_THROW(ReduceLROnPlateau({.factor = 1}), ValueError);
  EXPECT_THROW(ReduceLROnPlateau({.mode = "up"}), ValueError);
}

TEST(EarlyStopping, GoesOnFromItsState) {
  OnDevice device;
  test::Data data = test::line(16, 1);
  Sequential model = test::line_model(0);
  EarlyStopping first({.patience = 2, .restore_best_weights = true}), second = first;
  first.set_model(&model);
  first.on_train_begin();
  first.on_epoch_end(0, Logs({{"val_loss", 1.0}}));
  std::vector<Tensor> best = model.get_weights();
  first.on_epoch_end(1, Logs({{"val_loss", 2.0}}));
  CallbackState state = first.state();
  first.set_model(nullptr);

  second.set_model(&model);
  second.on_train_begin();
  second.restore(state);
  model.set_weights({Tensor::full({2, 1}, 9.0), Tensor::full({1}, 9.0)});
  second.on_epoch_end(2, Logs({{"val_loss", 2.0}}));
  EXPECT_EQ(second.stopped_epoch(), 2);
  second.on_train_end({});
  EXPECT_EQ(model.get_weights(), best);
  EXPECT_THROW(second.restore({.tensors = {{"other", Tensor(1.0F)}}}), ValueError);
  second.set_model(nullptr);
}

TEST(TerminateOnNaN, EndsTheTrainingInPlaceOfAnError) {
  OnDevice device;
  test::Data data = test::line(12, 1);
  Tensor poisoned = data.x.clone();
  poisoned.data_mut<float>()[2 * 8] = NAN;  // in the third batch of four
  Sequential model = test::line_model(0.1);
  std::ostringstream out;
  default_context().out = &out;
  FitArgs args{.epochs = 3, .batch_size = 4, .shuffle = false};
  EXPECT_THROW(model.fit(poisoned, data.y, args), NonFiniteError);
  args.callbacks = {TerminateOnNaN()};
  History history = model.fit(poisoned, data.y, args);
  EXPECT_EQ(history.epochs().size(), 1U);
  EXPECT_TRUE(std::isfinite(history["loss"][0]));
  EXPECT_EQ(model.optimizer().iterations(), 4);  // two before the bad batch, twice
  EXPECT_TRUE(says(out.str(), {"epoch 1, step 3", "training ends here"}));
}

TEST(ReduceLROnPlateau, RefusesAScheduleBeforeTheFirstStep) {
  test::Data data = test::line(16, 3);
  Sequential model({Input({2}), Dense(1)});
  model.compile(
      {.optimizer =
           SGD({.learning_rate = CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 10})}),
       .loss = "mse"});
  EXPECT_TRUE(says(error_of<Error>([&] {
                     model.fit(data.x, data.y,
                               {.callbacks = {ReduceLROnPlateau({.monitor = "loss"})}});
                   }),
                   {"ReduceLROnPlateau", "CosineDecay", "a number"}));
  EXPECT_EQ(model.optimizer().iterations(), 0);
}

}  // namespace
}  // namespace stoker
