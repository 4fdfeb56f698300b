// A full or failing disk never costs the training: what cannot be written is said once and tried
// again.
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "formats/tfrecord.h"
#include "support/faulty_files.h"
#include "train/callbacks/event_log.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/resuming.h"

namespace stoker {
namespace {

using namespace test;
namespace fs = std::filesystem;

int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Runs `act` before an epoch begins.
CallbackRef before_epoch(int64_t epoch, std::function<void()> act) {
  return LambdaCallback({.on_epoch_begin = [=](int64_t now) {
    if (now == epoch) act();
  }});
}

// What stands in the way of a folder from the first epoch until another begins.
CallbackRef in_the_way(const std::string& path, int64_t until) {
  return LambdaCallback({.on_epoch_begin = [=](int64_t now) {
    if (now == 0) write_file_atomically(path, "a file where the folder should be");
    if (now == until) fs::remove(path);
  }});
}

class DiskFull : public Resume {
 protected:
  // What was said during a fit of four epochs.
  std::string said(std::vector<CallbackRef> callbacks, int64_t epochs = 4) {
    std::ostringstream out;
    default_context().out = &out;
    Sequential model = three_class_model();
    model.fit(data_.x, data_.y,
              {.epochs = epochs, .batch_size = 8, .verbose = 0, .callbacks = std::move(callbacks)});
    default_context().out = nullptr;
    return out.str();
  }
};

TEST_F(DiskFull, TheOldestCheckpointMakesRoom) {
  TempDir dir;
  FitCall fit = on_arrays(data_, {.epochs = 5, .batch_size = 8});
  Outcome expected = train(BackupAndRestore(dir / "whole", {.keep = 1}), fit);
  uint64_t each = 0;
  for (const auto& entry : fs::recursive_directory_iterator(dir / "whole"))
    if (entry.is_regular_file()) each += entry.file_size();
  FaultyFiles files;
  files.limit_room(dir / "c", 2 * each + each / 2);
  BackupAndRestore backup(dir / "c", {.keep = 4, .keep_every_epochs = 1});
  backup.use_files(&files);
  Outcome got = train(backup, fit);
  expect_same(got, expected);
  ASSERT_EQ(got.notes.size(), 3U);
  EXPECT_TRUE(says(got.notes[0], {"the disk is full", checkpoint_name(1, 0).c_str(), "made room"}));
  EXPECT_EQ(list_checkpoints(dir / "c", local_files()).size(), 2U);
  EXPECT_EQ(latest_checkpoint(dir / "c"), (dir / "c") + "/" + checkpoint_name(5, 0));
}

TEST_F(DiskFull, TheLastGoodCheckpointIsNeverGivenUp) {
  TempDir dir;
  train(BackupAndRestore(dir / "c", {.keep = 2}), on_arrays(data_, {.epochs = 2, .batch_size = 8}));
  std::vector<std::string> gone;
  std::string newest = (dir / "c") + "/" + checkpoint_name(2, 0);
  dir.write("c/" + checkpoint_name(2, 0) + "/weights.safetensors", "damaged");
  EXPECT_FALSE(make_room(dir / "c", {}, local_files(), gone));
  fs::remove_all(newest);
  EXPECT_FALSE(make_room(dir / "c", {}, local_files(), gone));
  EXPECT_EQ(latest_checkpoint(dir / "c"), (dir / "c") + "/" + checkpoint_name(1, 0));
}

TEST_F(DiskFull, IsSaidAgainWhenTheReasonChangesAndWhenItIsOver) {
  TempDir dir;
  FaultyFiles files;
  files.fail_below(dir / "c", ENOSPC);
  BackupAndRestore backup(dir / "c", {.keep_every_epochs = 1});  // each waits for the one before
  backup.use_files(&files);
  std::string text = said({backup, before_epoch(3, [&] { files.fail_below(dir / "c", EROFS); }),
                           before_epoch(5, [&] { files.heal(); })},
                          7);
  EXPECT_EQ(count_of(text, "could not be written"), 2) << text;
  EXPECT_EQ(count_of(text, "No space left on device"), 1) << text;
  EXPECT_EQ(count_of(text, "Read-only file system"), 1) << text;
  EXPECT_EQ(count_of(text, "can be written again"), 1) << text;
  EXPECT_EQ(latest_checkpoint(dir / "c"), (dir / "c") + "/" + checkpoint_name(7, 0));
}

TEST_F(DiskFull, AnInterruptedFitIsSavedElsewhere) {
  TempDir dir;
  FitCall fit = on_arrays(data_, {.epochs = 2, .batch_size = 8});
  Outcome expected = train(BackupAndRestore(dir / "whole"), fit);
  FaultyFiles files;
  files.fail_below(dir / "run/c", EROFS);
  fs::create_directories(dir / "run");
  BackupAndRestore backup(dir / "run/c", {.stop_after_steps = 5});
  backup.use_files(&files);
  std::string text = error_of<Interrupted>([&] { train(backup, fit); });
  EXPECT_TRUE(says(text, {"could not be saved", "it is in", "move that into"})) << text;
  std::string elsewhere;
  for (const DirectoryEntry& entry : local_files().list(dir / ""))
    if (entry.name.starts_with("stoker-run-")) elsewhere = dir / entry.name;
  ASSERT_FALSE(elsewhere.empty());
  fs::rename(elsewhere, dir / "run/c");
  expect_same(train(BackupAndRestore(dir / "run/c"), fit), expected);
}

TEST_F(DiskFull, LinesOfALogWaitUntilTheyCanBeWritten) {
  TempDir dir;
  std::string text = said({CSVLogger(dir / "later/log.csv"), in_the_way(dir / "later", 3)});
  EXPECT_EQ(count_of(text, "CSVLogger"), 2) << text;
  EXPECT_TRUE(says(text, {"later", "training goes on", "works again"})) << text;
  std::string log = read_text(dir / "later/log.csv");
  EXPECT_EQ(count_of(log, "\n"), 5) << log;
  EXPECT_TRUE(log.starts_with("epoch,")) << log;
}

TEST_F(DiskFull, LinesOfALogThatNeverCouldBeWrittenDoNotEndTheTraining) {
  TempDir dir;
  std::string text = said({CSVLogger(dir / "never/log.csv"), in_the_way(dir / "never", 99)});
  EXPECT_EQ(count_of(text, "CSVLogger"), 1) << text;
}

// A file may not grow beyond a limit: the line that reaches it is torn.
class FileLimit {
 public:
  explicit FileLimit(uint64_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_{};
  void (*signal_)(int);
};

TEST_F(DiskFull, ALineThatWasTornIsWrittenAnew) {
  TempDir dir;
  std::optional<FileLimit> limit;
  std::string text = said({CSVLogger(dir / "log.csv"), before_epoch(1, [&] { limit.emplace(90); }),
                           before_epoch(3, [&] { limit.reset(); })});
  limit.reset();
  EXPECT_TRUE(says(text, {"File too large", "works again"})) << text;
  std::string log = read_text(dir / "log.csv");
  EXPECT_EQ(count_of(log, "\n"), 5) << log;
  for (const char* line : {"\n0,", "\n1,", "\n2,", "\n3,"})
    EXPECT_EQ(count_of(log, line), 1) << log;
}

TEST_F(DiskFull, LinesThatWaitAreInTheCheckpoint) {
  TempDir dir;
  CSVLogger logger(dir / "never/log.csv");
  said({logger, in_the_way(dir / "never", 99)}, 1);
  CSVLogger next(dir / "log.csv");
  next.on_train_begin();
  next.restore(logger.state());
  Sequential model = three_class_model();
  next.set_model(&model);
  next.on_epoch_end(1, Logs({{"accuracy", 0.5}, {"loss", 1.0}}));
  next.set_model(nullptr);
  EXPECT_EQ(count_of(read_text(dir / "log.csv"), "\n"), 3);
}

// Of all event files in a folder, without their versions.
std::vector<std::string> events_in(const std::string& folder) {
  std::vector<std::string> events;
  for (const DirectoryEntry& entry : local_files().list(folder)) {
    auto file = local_files().open(folder + "/" + entry.name);
    TFRecordReader reader(*file);
    EXPECT_TRUE(reader.next());
    while (auto record = reader.next())
      events.emplace_back(reinterpret_cast<const char*>(record->bytes.data()),
                          record->bytes.size());
  }
  return events;
}

TEST_F(DiskFull, EventsWaitUntilTheyCanBeWritten) {
  TempDir dir;
  FaultyFiles files;
  files.fail_below(dir / "logs", ENOSPC);
  EventLog log(dir / "logs", files);
  log.add([] { return std::string("first"); });
  EXPECT_THROW(log.finish(), FileError);
  log.add([] { return std::string("second"); });
  EXPECT_THROW(log.finish(), FileError);
  files.heal();
  log.add([] { return std::string("third"); });
  log.finish();
  EXPECT_EQ(events_in(dir / "logs"), (std::vector<std::string>{"first", "second", "third"}));
}

TEST_F(DiskFull, EventsBehindATornFileGoIntoANewOne) {
  TempDir dir;
  FaultyFiles files;
  EventLog log(dir / "logs", files);
  log.add([] { return std::string("first"); });
  log.finish();
  files.limit_room(dir / "logs", 0);
  log.add([] { return std::string("second"); });
  EXPECT_THROW(log.finish(), FileError);
  files.heal();
  log.finish();
  EXPECT_EQ(local_files().list(dir / "logs").size(), 2U);
}

TEST_F(DiskFull, TensorBoardGoesOnWhenItsFolderCanBeWritten) {
  TempDir dir;
  std::string text = said({TensorBoard({.log_dir = dir / "logs"}), in_the_way(dir / "logs", 3)}, 6);
  EXPECT_EQ(count_of(text, "TensorBoard"), 2) << text;
  EXPECT_TRUE(says(text, {"training goes on", "works again"})) << text;
  EXPECT_GE(events_in(dir / "logs/train").size(), 18U);
}

TEST_F(DiskFull, AModelCheckpointIsTriedAgain) {
  TempDir dir;
  ModelCheckpoint checkpoint(dir / "models/{epoch}.stoker");
  std::string text = said({checkpoint, in_the_way(dir / "models", 2)});
  EXPECT_EQ(count_of(text, "ModelCheckpoint"), 2) << text;
  EXPECT_EQ(checkpoint.last_path(), dir / "models/4.stoker");
  EXPECT_EQ(local_files().list(dir / "models").size(), 2U);
}

TEST_F(DiskFull, AFileBeyondTheLimitIsAnErrorWhileAFitRuns) {
  TempDir dir;
  struct sigaction inside = {}, after = {};
  said(
      {BackupAndRestore(dir / "c"), before_epoch(0, [&] { sigaction(SIGXFSZ, nullptr, &inside); })},
      1);
  sigaction(SIGXFSZ, nullptr, &after);
  EXPECT_EQ(inside.sa_handler, SIG_IGN);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace stoker
