#include <stoker/orbax_checkpoint.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

TEST(OrbaxCheckpoint, KeepsTheNewestByNumber) {
  OnDevice device;
  TempDir dir;
  Data data = line(8, 1);
  Sequential model = line_model();
  OrbaxCheckpoint checkpoint(dir / "run", {.max_to_keep = 2});
  model.fit(data.x, data.y, {.epochs = 4, .verbose = 0, .callbacks = {checkpoint}});
  EXPECT_EQ(files_in(dir / "run"), (std::set<std::string>{"2.stoker", "3.stoker"}));
  EXPECT_EQ(checkpoint.last_path(), dir / "run/3.stoker");
  EXPECT_EQ(load_model(checkpoint.last_path()).get_weights(), model.get_weights());
  // A temporary one writes as well; the default keeps one.
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {OrbaxCheckpoint(dir / "b")}});
  EXPECT_EQ(files_in(dir / "b"), std::set<std::string>{"1.stoker"});
}

TEST(OrbaxCheckpoint, CountsBatchesAndSavesWeights) {
  OnDevice device;
  TempDir dir;
  Data data = line(20, 1);
  Sequential model = line_model();
  OrbaxCheckpointOptions options{.save_freq = 3, .max_to_keep = {}, .save_weights_only = true};
  for (bool background : {true, false}) {
    options.save_on_background = background;
    std::string folder = dir / (background ? "behind" : "before");
    Sequential fresh = line_model();
    OrbaxCheckpoint checkpoint(folder, options);
    fresh.fit(data.x, data.y,
              {.epochs = 2, .batch_size = 4, .verbose = 0, .callbacks = {checkpoint}});
    EXPECT_EQ(files_in(folder), (std::set<std::string>{"3.stoker", "6.stoker", "9.stoker"}));
    model.load_weights(folder + "/9.stoker");
    EXPECT_THROW(load_model(folder + "/9.stoker"), FileError);
  }
}

TEST(OrbaxCheckpoint, KeepsTheBestOnly) {
  OnDevice device;
  TempDir dir;
  Sequential model = line_model();
  OrbaxCheckpoint checkpoint(dir / "run", {.save_best_only = true});
  checkpoint.set_model(&model);
  checkpoint.on_train_begin();
  for (double loss : {2.0, 3.0, 1.0, 1.5}) {
    static int64_t epoch = 0;
    checkpoint.on_epoch_end(epoch++, Logs({{"val_loss", loss}}));
  }
  checkpoint.wait_until_finished();
  EXPECT_EQ(files_in(dir / "run"), std::set<std::string>{"2.stoker"});
  EXPECT_EQ(checkpoint.best(), 1.0);
  OrbaxCheckpoint again(dir / "run", {.save_best_only = true});
  again.set_model(&model);
  again.on_train_begin();
  again.restore(checkpoint.state());
  again.on_epoch_end(9, Logs({{"val_loss", 1.2}}));
  again.wait_until_finished();
  EXPECT_EQ(files_in(dir / "run"), std::set<std::string>{"2.stoker"});
  checkpoint.set_model(nullptr);
  again.set_model(nullptr);
}

TEST(OrbaxCheckpoint, NeverWritesWeightsThatAreNotFinite) {
  OnDevice device;
  TempDir dir;
  std::ostringstream out;
  default_context().out = &out;
  Sequential model = line_model();
  OrbaxCheckpoint checkpoint(dir / "run");
  checkpoint.set_model(&model);
  checkpoint.on_train_begin();
  model.set_weights({Tensor::full({2, 1}, NAN), Tensor::full({1}, 0.0)});
  checkpoint.on_epoch_end(0, Logs({{"loss", 1.0}}));
  checkpoint.wait_until_finished();
  EXPECT_FALSE(fs::exists(dir / "run/0.stoker"));
  EXPECT_TRUE(says(out.str(), {"not finite", "0.stoker"}));
  checkpoint.set_model(nullptr);
}

TEST(OrbaxCheckpoint, SaysWhatIsWrongBeforeTheFirstStep) {
  OnDevice device;
  TempDir dir;
  dir.write("file", "x");
  Data data = line(8, 1);
  Sequential model = line_model();
  EXPECT_THROW(model.fit(data.x, data.y, {.callbacks = {OrbaxCheckpoint(dir / "file")}}),
               FileError);
  EXPECT_THROW(OrbaxCheckpoint(""), ValueError);
  EXPECT_THROW(OrbaxCheckpoint("a", {.save_freq = "week"}), ValueError);
  EXPECT_TRUE(says(error_of<ValueError>([] { OrbaxCheckpoint("a", {.max_to_keep = 0}); }),
                   {"max_to_keep", "at least 1", "0"}));
}

}  // namespace
}  // namespace stoker
