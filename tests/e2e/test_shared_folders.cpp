// Two processes in one folder.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder_lock.h"
#include "support/program.h"
#include "support/tiny_data.h"

namespace stoker {
namespace {

using test::contains;
using test::Ended;
using test::run_stoker;
using test::TempDir;

TEST(SharedFolder, OfARunningTrainingCanBeReadButNotTrainedIn) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  std::string run = folder / "run";
  std::string train = "train --data idx:" + folder / "digits" +
                      " --model mlp --epochs 2 --batch 8 --seed 1 --verbose 0 --out " + run;
  ASSERT_EQ(run_stoker(train).status, 0);
  std::string history = read_text(run + "/history.csv"), job = read_text(run + "/job.json");
  std::string holder;
  auto lock = FolderLock::try_lock(run, holder);
  for (const char* more : {"", " --resume auto", " --resume auto --allow-differences"}) {
    Ended refused = run_stoker(train + more);
    EXPECT_EQ(refused.status, 1);
    EXPECT_TRUE(contains(refused.err, "in use by process " + std::to_string(getpid()) + " on "))
        << refused.err;
  }
  EXPECT_EQ(read_text(run + "/history.csv"), history);
  EXPECT_EQ(read_text(run + "/job.json"), job);
  EXPECT_EQ(run_stoker("evaluate " + run).status, 0);
  EXPECT_EQ(run_stoker("inspect " + run + "/model.stoker").status, 0);
  EXPECT_EQ(run_stoker("monitor --once " + run).status, 0);
  lock.reset();
  EXPECT_EQ(run_stoker(train + " --resume auto").status, 0);
}

TEST(SharedFolder, ARefusalNamesTheOptionOfTheCommandLine) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  std::string train = "train --data idx:" + folder / "digits" +
                      " --model mlp --batch 8 --seed 1 --verbose 0 --resume auto --out " +
                      folder / "run";
  ASSERT_EQ(run_stoker(train + " --epochs 2").status, 0);
  Ended refused = run_stoker(train + " --epochs 3 --weight-decay 0.1");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(contains(refused.err, "weight_decay: 0.1 here, not set there")) << refused.err;
  EXPECT_TRUE(contains(refused.err, "--allow-differences")) << refused.err;
  EXPECT_FALSE(contains(refused.err, "{.allow")) << refused.err;
  EXPECT_EQ(run_stoker(train + " --epochs 3 --weight-decay 0.1 --allow-differences").status, 0);
}

}  // namespace
}  // namespace stoker
