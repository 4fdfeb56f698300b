// Checkpoints on disk: whole or not at all, and nothing in them is trusted.
#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <limits>

#include <fmt/format.h>

#include "formats/crc32c.h"
#include "support/faulty_files.h"
#include "support/temp_dir.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::TempDir;

Checkpoint sample(int64_t epoch, int64_t step) {
  Checkpoint checkpoint{.epoch = epoch, .step = step, .stop = true, .steps_per_epoch = 7};
  checkpoint.plan = {.seed = 5, .batch_size = 8, .backend = "cpu"};
  checkpoint.library_plans = {{"fwd 3x3", "2 engine 34"}, {"dgrad 3x3", "0 engine 5"}};
  checkpoint.feed = {.epoch = epoch,
                     .step = step,
                     .walks = 2,
                     .walk_batches = 3,
                     .walking = true,
                     .stream = "{\"place\": 3}"};
  double nan = std::numeric_limits<double>::quiet_NaN();
  checkpoint.history.append(0, Logs({{"loss", 0.1}, {"accuracy", 1.0}}));
  checkpoint.history.append(1, Logs({{"loss", 1.0 / 3}, {"accuracy", nan}, {"val_loss", -1e300}}));
  checkpoint.logs = {{"loss", 1.0 / 3}, {"val_loss", -std::numeric_limits<double>::infinity()}};
  checkpoint.samples = 24;
  checkpoint.learning_rate = 0.1;
  checkpoint.accumulated_batches = 2;
  checkpoint.callbacks = {
      {"EarlyStopping",
       {.values = {{"wait", int64_t(2)}, {"best", nan}, {"none", Doubles{}}, {"path", "ä"}},
        .tensors = {{"best/0", test::normal({3, 2}, 1)}}}},
      {"LambdaCallback", {}}};
  checkpoint.weights = {{"weights/dense/kernel", test::normal({4, 3}, 2)}};
  checkpoint.state = {{"random_state", Tensor::from<int64_t>({-1, 7}, {2})},
                      {"optimizer/iterations", Tensor::from<int64_t>({9}, {})}};
  return checkpoint;
}

void expect_equal(const NamedTensors& got, const NamedTensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    auto found = std::ranges::find(got, name, &NamedTensors::value_type::first);
    ASSERT_NE(found, got.end()) << name;
    ASSERT_EQ(found->second.spec(), tensor.spec());
    EXPECT_EQ(memcmp(found->second.raw(), tensor.raw(), tensor.bytes()), 0) << name;
  }
}

TEST(CheckpointFiles, GiveBackWhatWasWritten) {
  TempDir dir;
  Checkpoint written = sample(2, 5);
  uint64_t bytes = write_checkpoint(dir / ".", written, 0.25);
  Checkpoint read = read_checkpoint(dir / checkpoint_name(2, 5));
  EXPECT_EQ(checkpoint_to_json(read), checkpoint_to_json(written));
  EXPECT_EQ(read.plan, written.plan);
  EXPECT_EQ(read.library_plans, written.library_plans);
  EXPECT_EQ(read.feed.stream, written.feed.stream);
  EXPECT_EQ(std::get<Doubles>(*read.callbacks[0].second.values.find("none")), Doubles());
  expect_equal(read.weights, written.weights);
  expect_equal(read.state, written.state);
  expect_equal(read.callbacks[0].second.tensors, written.callbacks[0].second.tensors);
  uint64_t there = 0;
  for (const DirectoryEntry& entry : local_files().list(dir / checkpoint_name(2, 5)))
    there += local_files().size(dir / (checkpoint_name(2, 5) + "/" + entry.name));
  EXPECT_EQ(bytes, there);
  ASSERT_EQ(list_checkpoints(dir.path().string(), local_files()).size(), 1U);
  EXPECT_EQ(list_checkpoints(dir.path().string(), local_files())[0].monitored, 0.25);
}

TEST(CheckpointFiles, WeightsAreAFileOfTheirOwn) {
  test::OnDevice device;
  TempDir dir;
  Checkpoint checkpoint = sample(0, 1);
  checkpoint.weights = {{"weights/dense/kernel", test::normal({4, 3}, 2)},
                        {"weights/dense/bias", test::normal({3}, 3)}};
  write_checkpoint(dir / ".", checkpoint, {});
  Sequential model({Input({4}), Dense(3, {.name = "dense"})});
  model.load_weights(dir / (checkpoint_name(0, 1) + "/weights.safetensors"));
  EXPECT_EQ(model.get_weights()[1].at(2), checkpoint.weights[1].second.at(2));
}

TEST(CheckpointFiles, OfAnyDamageTheNewestThatIsWholeIsUsed) {
  TempDir dir;
  std::string directory = dir.path().string();
  write_checkpoint(directory, sample(1, 0), {});
  write_checkpoint(directory, sample(1, 4), {});
  std::string good = dir / checkpoint_name(1, 0), newest = dir / checkpoint_name(1, 4);
  std::vector<std::string> names = {"manifest.json", "training.json", "weights.safetensors",
                                    "state.safetensors"};
  Rng rng(4);
  int damages = 0;
  auto expect_passed_over = [&](const std::string& what) {
    FoundCheckpoint found = find_newest_checkpoint(directory);
    ASSERT_EQ(found.path, good) << what;
    ASSERT_EQ(found.damaged.size(), 1U) << what;
    ASSERT_TRUE(found.damaged[0].starts_with(newest)) << found.damaged[0];
    ++damages;
  };
  for (const std::string& name : names) {
    std::string path = newest + "/" + name, content = read_text(path);
    auto put = [&](const std::string& text) {
      dir.write(checkpoint_name(1, 4) + "/" + name, text);
    };
    for (int round = 0; round < 100; ++round) {
      std::string changed = content;
      auto at = size_t(rng.integer(0, int64_t(content.size())));
      changed[at] = char(changed[at] ^ (1 << rng.integer(0, 8)));
      put(changed);
      expect_passed_over(name + ": bit at " + std::to_string(at));
      auto length = size_t(rng.integer(0, int64_t(content.size())));
      put(content.substr(0, length));
      expect_passed_over(name + ": cut at " + std::to_string(length));
    }
    put(content + " ");
    expect_passed_over(name + ": longer");
    local_files().remove(path);
    expect_passed_over(name + ": missing");
    put(content);
  }
  EXPECT_EQ(find_newest_checkpoint(directory).path, newest);
  EXPECT_EQ(damages, 4 * 202);
}

TEST(CheckpointFiles, ATextWithAGoodSealIsNotTrustedEither) {
  std::string text = checkpoint_to_json(sample(2, 5));
  std::string body = text.substr(0, text.rfind(",\"crc32c\""));
  Rng rng(8);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = body;
    for (int64_t edits = rng.integer(1, 4); edits > 0; --edits) {
      auto at = size_t(rng.integer(0, int64_t(changed.size())));
      if (rng.integer(0, 2) == 0)
        changed[at] = "0123456789-.\"{}[],:eE"[rng.integer(0, 21)];
      else
        changed.erase(at, size_t(rng.integer(1, 9)));
    }
    changed += fmt::format(",\"crc32c\":\"{:08x}\"}}\n", crc32c(as_bytes(changed)));
    try {
      checkpoint_from_json(changed);
    } catch (const ValueError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(CheckpointFiles, AnotherCheckpointsNameIsDamage) {
  TempDir dir;
  write_checkpoint(dir / ".", sample(1, 0), {});
  local_files().rename(dir / checkpoint_name(1, 0), dir / checkpoint_name(7, 0));
  EXPECT_THROW(read_checkpoint(dir / checkpoint_name(7, 0)), FileError);
}

TEST(CheckpointFiles, AreThereWholeOrNotAtAllWhateverFails) {
  int operations = 0;
  {
    TempDir dir;
    test::FaultyFiles files;
    write_checkpoint(dir.path().string(), sample(1, 0), {}, files);
    operations = files.operations();
  }
  ASSERT_GT(operations, 10);
  for (int error : {ENOSPC, EIO, EROFS})
    for (int before = 0; before < operations; ++before) {
      TempDir dir;
      write_checkpoint(dir.path().string(), sample(1, 0), {});
      test::FaultyFiles files;
      files.fail_from(before, error);
      EXPECT_THROW(write_checkpoint(dir.path().string(), sample(2, 0), {}, files), FileError);
      FoundCheckpoint found = find_newest_checkpoint(dir.path().string());
      EXPECT_TRUE(found.damaged.empty());
      bool last = before == operations - 1;  // the sync behind the rename
      EXPECT_EQ(found.checkpoint.epoch, last ? 2 : 1) << before;
    }
}

TEST(CheckpointFiles, ADamagedOneInTheWayGetsAnotherName) {
  TempDir dir;
  dir.write(checkpoint_name(1, 0) + "/manifest.json", "mine");
  write_checkpoint(dir / ".", sample(1, 0), {});
  EXPECT_EQ(find_newest_checkpoint(dir.path().string()).checkpoint.epoch, 1);
  EXPECT_EQ(read_text(dir / (checkpoint_name(1, 0) + ".damaged-1/manifest.json")), "mine");
}

TEST(CheckpointFiles, WhatKilledWritersLeaveIsNoCheckpointAndGoes) {
  TempDir dir;
  write_checkpoint(dir / ".", sample(1, 0), {});
  dir.write("." + checkpoint_name(2, 0) + ".123-0.stoker-tmp/manifest.json", "half");
  dir.write("mine.stoker-tmp", "not ours");
  EXPECT_EQ(find_newest_checkpoint(dir.path().string()).checkpoint.epoch, 1);
  remove_leftovers(dir.path().string(), local_files());
  EXPECT_EQ(local_files().list(dir.path().string()).size(), 2U);
}

std::vector<std::string> kept(const std::vector<ListedCheckpoint>& all, const KeepRule& rule) {
  std::vector<std::string> gone = expendable(all, rule), names;
  for (const ListedCheckpoint& each : all)
    if (std::ranges::find(gone, each.name) == gone.end()) names.push_back(each.name);
  return names;
}

TEST(KeepRule, KeepsTheNewestTheMilestonesAndTheBest) {
  std::vector<ListedCheckpoint> all = {{"1", 1, 0, 0.5}, {"2", 2, 0, 0.2}, {"2+", 2, 9, {}},
                                       {"3", 3, 0, 0.2}, {"4", 4, 0, 0.9}, {"5", 5, 0, 0.4}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(kept(all, {.newest = 2}), (Names{"4", "5"}));
  EXPECT_EQ(kept(all, {.newest = 1, .every_epochs = 2}), (Names{"2", "4", "5"}));
  EXPECT_EQ(kept(all, {.newest = 1, .best = true}), (Names{"2", "5"}));
  EXPECT_EQ(kept(all, {.newest = 1, .best = true, .maximise = true}), (Names{"4", "5"}));
  EXPECT_EQ(kept(all, {.newest = 10}).size(), 6U);
  EXPECT_EQ(kept({}, {.newest = 1}), Names());
}

}  // namespace
}  // namespace stoker
