// fit's validation_freq, and callbacks in epochs that do not validate.
#include <fstream>
#include <sstream>

#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/resuming.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

class SomeEpochsValidate : public testing::Test {
 protected:
  History fit(FitArgs args) {
    set_seed(3);
    args.verbose = 0;
    args.validation_data = {data_.x, data_.y};
    return test::line_model().fit(data_.x, data_.y, args);
  }
  test::OnDevice device_;
  test::Data data_ = test::line(32, 2);
};

TEST_F(SomeEpochsValidate, EverySoManyOrThoseOfAList) {
  std::vector<double> all = fit({.epochs = 6})["val_loss"];
  History second = fit({.epochs = 6, .validation_freq = 2});
  EXPECT_EQ(second["loss"].size(), 6U);
  EXPECT_EQ(second["val_loss"], (std::vector{all[1], all[3], all[5]}));
  EXPECT_EQ(fit({.epochs = 6, .validation_freq = {1, 5}})["val_loss"],
            (std::vector{all[0], all[4]}));
  EXPECT_EQ(fit({.epochs = 6, .validation_freq = 3, .initial_epoch = 4})["val_loss"].size(), 1U);
  EXPECT_FALSE(fit({.epochs = 2, .validation_freq = 5}).has("val_loss"));
}

TEST_F(SomeEpochsValidate, AndCallbacksPassOverTheOthers) {
  test::TempDir dir;
  EarlyStopping stopping({.monitor = "val_loss", .patience = 2, .mode = "max"});
  ReduceLROnPlateau plateau({.monitor = "val_loss", .mode = "max"});
  ModelCheckpoint best(dir / "best.stoker", {.monitor = "val_loss", .save_best_only = true});
  CSVLogger logger(dir / "log.csv");
  History history =
      fit({.epochs = 20, .validation_freq = 2, .callbacks = {stopping, plateau, best, logger}});
  EXPECT_EQ(history["loss"].size(),
            6U);  // epochs 2, 4 and 6 were looked at; the first was the best
  std::ifstream file(dir / "log.csv");
  std::string header, first;
  std::getline(file, header);
  std::getline(file, first);
  EXPECT_EQ(header, "epoch,learning_rate,loss,val_loss");
  EXPECT_TRUE(first.ends_with(",NA")) << first;
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     fit({.epochs = 4,
                          .validation_freq = 2,
                          .callbacks = {EarlyStopping({.monitor = "val_los"})}});
                   }),
                   {"val_los", "not logged"}));
}

TEST_F(SomeEpochsValidate, AlsoWhenTheTrainingGoesOn) {
  test::expect_stops_change_nothing(
      [&](const Model& model, FitArgs args) {
        test::Data data = test::blobs(50, 4, 3, 7);
        args.validation_data = {data.x, data.y};
        return model.fit(data.x, data.y, args);
      },
      3, {.epochs = 4, .batch_size = 16, .validation_freq = {2, 3}});
}

TEST_F(SomeEpochsValidate, RefusesWhatIsNoNumberOfEpochs) {
  EXPECT_TRUE(
      says(error_of<ValueError>([&] { fit({.validation_freq = 0}); }), {"validation_freq"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     fit({.validation_freq = {2, 0}});
                   }),
                   {"lists epoch 0", "from 1"}));
  EXPECT_TRUE(says(error_of<ValueError>(
                       [&] { test::line_model().fit(data_.x, data_.y, {.validation_freq = 2}); }),
                   {"without validation"}));
}

}  // namespace
}  // namespace stoker
