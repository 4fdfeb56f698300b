// Callbacks that write: ModelCheckpoint and CSVLogger.
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;
namespace fs = std::filesystem;

TEST(ModelCheckpoint, FillsInTheNameAndMakesTheFolder) {
  OnDevice device;
  test::TempDir dir;
  test::Data data = test::line(8, 1);
  Sequential model = test::line_model(0);
  ModelCheckpoint checkpoint(dir / "deep/{epoch:02d}-{val_loss:.2f}.stoker");
  History history =
      model.fit(data.x, data.y,
                {.epochs = 2, .validation_data = {data.x, data.y}, .callbacks = {checkpoint}});
  char name[32];
  std::snprintf(name, sizeof name, "deep/02-%.2f.stoker", history["val_loss"][1]);
  EXPECT_EQ(checkpoint.last_path(), dir / name);
  EXPECT_EQ(load_model(dir / name).get_weights(), model.get_weights());
  EXPECT_EQ(std::distance(fs::directory_iterator(dir / "deep"), fs::directory_iterator()), 2);
}

TEST(ModelCheckpoint, SavesWeightsEverySoManyBatches) {
  OnDevice device;
  test::TempDir dir;
  test::Data data = test::line(20, 1);
  Sequential model = test::line_model();
  ModelCheckpoint checkpoint(dir / "{epoch}-{batch}.safetensors",
                             {.save_weights_only = true, .save_freq = 3});
  model.fit(data.x, data.y, {.epochs = 2, .batch_size = 4, .callbacks = {checkpoint}});
  for (const char* made : {"1-3.safetensors", "2-1.safetensors", "2-4.safetensors"}) {
    EXPECT_TRUE(fs::exists(dir / made)) << made;
    model.load_weights(dir / made);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 3);
}

TEST(ModelCheckpoint, KeepsTheBestOnly) {
  OnDevice device;
  test::TempDir dir;
  Sequential model = test::line_model();
  ModelCheckpoint checkpoint(dir / "best.stoker", {.save_best_only = true});
  checkpoint.set_model(&model);
  checkpoint.on_train_begin();
  auto epoch = [&](double loss, double weight) {
    model.set_weights({Tensor::full({2, 1}, weight), Tensor::full({1}, weight)});
    checkpoint.on_epoch_end(0, Logs({{"val_loss", loss}}));
    return load_model(dir / "best.stoker").get_weights()[1].item();
  };
  EXPECT_EQ(epoch(2.0, 1), 1);
  EXPECT_EQ(epoch(3.0, 2), 1);
  EXPECT_EQ(epoch(1.0, 3), 3);
  EXPECT_EQ(checkpoint.best(), 1.0);

  ModelCheckpoint again(dir / "best.stoker", {.save_best_only = true});
  again.set_model(&model);
  again.on_train_begin();
  again.restore(checkpoint.state());
  again.on_epoch_end(0, Logs({{"val_loss", 1.5}}));
  EXPECT_EQ(again.best(), 1.0);
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     again.on_epoch_end(0, Logs({{"loss", 1.0}}));
                   }),
                   {"val_loss", "loss"}));
  checkpoint.set_model(nullptr);
  again.set_model(nullptr);
}

TEST(ModelCheckpoint, NeverWritesWeightsThatAreNotFinite) {
  OnDevice device;
  test::TempDir dir;
  Sequential model = test::line_model();
  std::ostringstream out;
  default_context().out = &out;
  ModelCheckpoint checkpoint(dir / "m.stoker");
  checkpoint.set_model(&model);
  checkpoint.on_train_begin();
  checkpoint.on_epoch_end(0, Logs({{"loss", 1.0}}));
  std::string good = read_text(dir / "m.stoker");
  model.set_weights({Tensor::full({2, 1}, NAN), Tensor::full({1}, 0.0)});
  checkpoint.on_epoch_end(1, Logs({{"loss", 1.0}}));
  EXPECT_EQ(read_text(dir / "m.stoker"), good);
  EXPECT_TRUE(says(out.str(), {"not finite", "m.stoker"}));
  checkpoint.set_model(nullptr);
}

TEST(ModelCheckpoint, SaysWhatIsWrongWithAName) {
  OnDevice device;
  test::TempDir dir;
  test::Data data = test::line(8, 1);
  Sequential model = test::line_model();
  for (const char* name : {"{val_los:.2f}.stoker", "{loss:.2q}", "{epoch"}) {
    ModelCheckpoint checkpoint(dir / name);
    EXPECT_TRUE(
        says(error_of<ValueError>([&] { model.fit(data.x, data.y, {.callbacks = {checkpoint}}); }),
             {name, "epoch, batch, loss"}));
  }
  EXPECT_THROW(ModelCheckpoint(""), ValueError);
  EXPECT_THROW(ModelCheckpoint("a", {.save_freq = "week"}), ValueError);
}

// Counts the steps that were made.
struct Steps : Callback {
  void on_train_batch_end(int64_t, const Logs&) override { ++count; }
  int count = 0;
};

// The error of a fit that must not make a step.
template <class E>
std::string refused(const Model& model, const CallbackRef& callback, const FitArgs& more = {}) {
  test::Data data = test::line(8, 1);
  Steps steps;
  FitArgs args = more;
  args.callbacks = {steps, callback};
  std::string text = error_of<E>([&] { model.fit(data.x, data.y, args); });
  EXPECT_EQ(steps.count, 0);
  return text;
}

TEST(CallbacksThatSave, RefuseAModelThatCannotBeWrittenBeforeTheFirstStep) {
  OnDevice device;
  test::TempDir dir;
  Value x = Input({2});
  Model model(x, Dense(1)(x) * Value(Variable("alone", Tensor(2.0F), {.trainable = false})));
  model.compile({.loss = "mse"});
  EXPECT_TRUE(says(refused<ValueError>(model, ModelCheckpoint(dir / "m.stoker")),
                   {"ModelCheckpoint", "m.stoker", "\"alone\"", ".save_weights_only = true"}));
  test::Data data = test::line(8, 1);
  model.fit(data.x, data.y,
            {.callbacks = {ModelCheckpoint(dir / "w.safetensors", {.save_weights_only = true})}});
  EXPECT_TRUE(fs::exists(dir / "w.safetensors"));

  Sequential odd({Input({2}), Dense(1, {.name = "\xff"})});
  odd.compile({.loss = "mse"});
  for (bool weights_only : {false, true})
    EXPECT_TRUE(says(refused<ValueError>(odd, ModelCheckpoint(dir / "m.stoker",
                                                              {.save_weights_only = weights_only})),
                     {"ModelCheckpoint", "UTF-8"}));
  EXPECT_TRUE(
      says(refused<ValueError>(odd, BackupAndRestore(dir / "c")), {"BackupAndRestore", "UTF-8"}));
}

TEST(CallbacksThatSave, TakeAModelWithAnOwnLoss) {
  OnDevice device;
  test::TempDir dir;
  test::Data data = test::line(8, 1);
  Loss mine("mine", [](const Value& t, const Value& p) { return ops::abs(t - p); });
  Sequential model({Input({2}), Dense(1)});
  model.compile({.loss = mine});
  model.fit(data.x, data.y, {.callbacks = {ModelCheckpoint(dir / "m.stoker")}});
  Model loaded = load_model(dir / "m.stoker", {.custom_objects = {.losses = {{"mine", mine}}}});
  EXPECT_EQ(loaded.get_weights(), model.get_weights());
}

TEST(CallbacksThatSave, RefuseAPlaceThatCannotBeWrittenBeforeTheFirstStep) {
  OnDevice device;
  test::TempDir dir;
  Sequential model = test::line_model();
  dir.write("file", "x");
  fs::create_directory(dir / "folder");
  EXPECT_TRUE(says(refused<FileError>(model, ModelCheckpoint(dir / "folder")), {"is a directory"}));
  EXPECT_TRUE(says(refused<FileError>(model, CSVLogger(dir / "folder")), {"is a directory"}));
  for (const CallbackRef& callback : std::vector<CallbackRef>{
           ModelCheckpoint(dir / "file/m.stoker"), ModelCheckpoint(dir / "file/{epoch}.stoker"),
           BackupAndRestore(dir / "file/c"), CSVLogger(dir / "file/log.csv"),
           TensorBoard({.log_dir = dir / "file/logs"})})
    EXPECT_TRUE(says(refused<FileError>(model, callback), {"file", "not a directory"}));
  EXPECT_TRUE(says(refused<FileError>(model, Steps(), {.run_directory = dir / "file/run"}),
                   {"not a directory"}));
}

TEST(CallbacksThatSave, MakeTheFoldersThatAreMissing) {
  OnDevice device;
  test::TempDir dir;
  test::Data data = test::line(8, 1);
  test::line_model().fit(
      data.x, data.y,
      {.callbacks = {ModelCheckpoint(dir / "a/b/m.stoker"), CSVLogger(dir / "c/d/log.csv")}});
  EXPECT_TRUE(fs::exists(dir / "a/b/m.stoker"));
  EXPECT_TRUE(fs::exists(dir / "c/d/log.csv"));
}

// Three epochs of made-up numbers.
void log(CSVLogger& logger, int64_t first, int64_t last) {
  for (int64_t epoch = first; epoch <= last; ++epoch)
    logger.on_epoch_end(epoch, Logs({{"loss", 1.0 / double(epoch + 1)}, {"accuracy", 0.5}}));
}

TEST(CSVLogger, WritesALineAnEpoch) {
  test::TempDir dir;
  CSVLogger logger(dir / "log.csv");
  logger.on_train_begin();
  log(logger, 0, 1);
  EXPECT_EQ(read_text(dir / "log.csv"), "epoch,accuracy,loss\n0,0.5,1\n1,0.5,0.5\n");
  logger.on_train_begin();  // of another fit
  log(logger, 0, 0);
  EXPECT_EQ(read_text(dir / "log.csv"), "epoch,accuracy,loss\n0,0.5,1\n");
}

TEST(CSVLogger, AppendsAndSeparatesAsItIsTold) {
  test::TempDir dir;
  for (int64_t epoch : {0, 1}) {
    CSVLogger logger(dir / "log.csv", {.separator = ";", .append = true});
    logger.on_train_begin();
    log(logger, epoch, epoch);
  }
  EXPECT_EQ(read_text(dir / "log.csv"), "epoch;accuracy;loss\n0;0.5;1\n1;0.5;0.5\n");
  CSVLogger other(dir / "log.csv", {.append = true});
  other.on_train_begin();
  EXPECT_TRUE(says(error_of<ValueError>([&] { log(other, 2, 2); }),
                   {"log.csv", "epoch;accuracy;loss", "epoch,accuracy,loss"}));
}

TEST(CSVLogger, GoesOnWhereACheckpointWasTaken) {
  test::TempDir dir;
  CSVLogger logger(dir / "log.csv");
  logger.on_train_begin();
  log(logger, 0, 1);
  CallbackState state = logger.state();
  log(logger, 2, 2);  // is lost with the process
  CSVLogger again(dir / "log.csv");
  again.on_train_begin();
  again.restore(state);
  log(again, 2, 3);
  EXPECT_EQ(read_text(dir / "log.csv"),
            "epoch,accuracy,loss\n0,0.5,1\n1,0.5,0.5\n2,0.5,0.3333333333333333\n3,0.5,0.25\n");
}

TEST(CSVLogger, MarksWhatAnEpochDoesNotHave) {
  test::TempDir dir;
  CSVLogger logger(dir / "log.csv");
  logger.on_train_begin();
  logger.on_epoch_end(0, Logs({{"loss", 1.0}, {"val_loss", 2.0}}));
  logger.on_epoch_end(1, Logs({{"loss", 1.0}}));
  EXPECT_EQ(read_text(dir / "log.csv"), "epoch,loss,val_loss\n0,1,2\n1,1,NA\n");
}

}  // namespace
}  // namespace stoker
