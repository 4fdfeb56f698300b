// What a fit is handed by the rooms behind it: it can do without.
#include <gtest/gtest.h>

#include <sstream>

#include "support/temp_dir.h"
#include "train/checkpoint/run_lock.h"
#include "train/fit/services.h"
#include "train/helpers.h"

namespace stoker::test {
namespace {

TEST(FitServices, AFitWithoutAnObserverTrainsAndSaysWhatIsWithoutEffect) {
  OnDevice device("cpu");
  TempDir folder;
  std::ostringstream said;
  default_context().out = &said;
  Data data = line(32, 1);
  Sequential model = line_model(), observed = line_model();
  observed.set_weights(model.get_weights());
  TensorBoard board({.log_dir = folder / "logs", .profile_batch = {1, 2}});
  fit_arrays(model, data.x, data.y, {.shuffle = false, .verbose = 0, .callbacks = {board}}, {});
  observed.fit(data.x, data.y, {.shuffle = false, .verbose = 0});
  EXPECT_EQ(model.get_weights(), observed.get_weights());
  EXPECT_TRUE(says(said.str(), {"TensorBoard: profile_batch", "without effect"}));
}

TEST(FitServices, ImpossibleStepsToProfileAreRefusedWhenTheyAreGiven) {
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     TensorBoard board({.profile_batch = {5, 3}});
                   }),
                   {"TensorBoard: profile_batch", "5 to 3"}));
}

TEST(RunLocks, AreSharedByARunAndByNoOther) {
  TempDir folder;
  RunLocks run, other;
  auto lock = run.lock(folder / "out", nullptr);
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(run.lock(folder / "out/../out", nullptr), lock) << "the same folder";
  EXPECT_NE(run.lock(folder / "out/checkpoints", nullptr), lock);
  EXPECT_THROW(other.lock(folder / "out", nullptr), FolderInUse) << "on the same thread too";
  lock.reset();
  EXPECT_NE(other.lock(folder / "out", nullptr), nullptr) << "free again";
}

TEST(FitServices, AFitInTheFolderOfAnotherIsRefusedOnTheSameThreadToo) {
  OnDevice device("cpu");
  TempDir folder;
  Data data = line(32, 1);
  Sequential outer = line_model(), inner = line_model();
  FitArgs args{.verbose = 0, .run_directory = folder / "run"};
  std::string text;
  FitArgs nested = args;
  nested.callbacks = {LambdaCallback({.on_train_begin = [&] {
    text = error_of<FileError>([&] { inner.fit(data.x, data.y, args); });
  }})};
  outer.fit(data.x, data.y, nested);
  EXPECT_TRUE(says(text, {"run"}));
}

}  // namespace
}  // namespace stoker::test
