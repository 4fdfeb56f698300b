// AutoShardPolicy: ranks that share files instead of batches, and ranks that share nothing.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <stoker/text.h>

#include "slices.h"
#include "support/temp_dir.h"

namespace stoker::data::slices {
namespace {

// What ranks say to each other: whether any of them has more.
class Meeting {
 public:
  explicit Meeting(int64_t ranks) : ranks_(ranks) {}
  bool any(bool mine) {
    std::unique_lock lock(mutex_);
    int64_t round = round_;
    any_ |= mine;
    if (++here_ < ranks_) {
      all_here_.wait(lock, [&] { return round_ != round; });
      return answer_;
    }
    answer_ = std::exchange(any_, false);
    here_ = 0;
    ++round_;
    all_here_.notify_all();
    return answer_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int64_t ranks_, here_ = 0, round_ = 0;
  bool any_ = false, answer_ = false;
};

using TextBatches = std::vector<std::vector<std::string>>;  // by batch

// `epochs` epochs of every rank, each on its thread, as fit walks them; from the state that rank 0 gave
// after `state_after` batches, if any.
std::vector<TextBatches> texts_of_ranks(const Dataset& dataset, int64_t size, int64_t epochs,
                                        const std::string& state = {},
                                        size_t state_after = SIZE_MAX,
                                        std::string* taken = nullptr) {
  Meeting meeting(size);
  std::vector<TextBatches> ranks{size_t(size)};
  Batches batches = dataset.batches();
  auto walk = [&](int64_t rank) {
    std::unique_ptr<BatchStream> stream =
        batches.begin_walk({.more_follow = true,
                            .state = state,
                            .slice = rank_of(rank, size),
                            .any_rank = [&](bool mine) { return meeting.any(mine); }});
    EXPECT_TRUE(stream->sliced());
    for (int64_t epoch = 0; epoch < epochs;) {
      const Batch* batch = stream->next();
      if (batch == nullptr) {
        ++epoch;
        continue;
      }
      std::span<const std::string> texts = (*batch)[0].values<std::string>();
      ranks[size_t(rank)].emplace_back(texts.begin(), texts.end());
      if (rank == 0 && ranks[0].size() == state_after) *taken = stream->state();
    }
  };
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank) threads.emplace_back(walk, rank);
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

std::vector<std::string> sorted(const std::vector<TextBatches>& ranks) {
  std::vector<std::string> all;
  for (const TextBatches& rank : ranks)
    for (const auto& batch : rank) all.insert(all.end(), batch.begin(), batch.end());
  std::sort(all.begin(), all.end());
  return all;
}

TEST(SharedFiles, AreReadByOneRankEachAndGiveAllRanksAsManyBatches) {
  test::TempDir folder;
  std::vector<std::string> paths, expected;
  for (int file = 0; file < 5; ++file) {
    std::string lines;
    for (int line = 0; line < 3 + 7 * file; ++line) {
      expected.push_back(fmt::format("{}.{}", file, line));
      lines += expected.back() + "\n";
    }
    paths.push_back(folder.write(fmt::format("{}.txt", file), lines));
  }
  std::sort(expected.begin(), expected.end());
  auto expand = [](const Batch& path) { return text_lines({path[0].data<std::string>()[0]}); };
  ElementSpec text{{DType::bytes, {}}};
  auto yes = [](const std::string&) { return true; };
  for (const Dataset& rows :
       {text_lines(paths), text_lines(paths).filter(yes), text_lines(paths).shuffle(),
        files(folder / "*.txt").interleave(text, expand, {.cycle = 2})}) {
    Dataset dataset =
        rows.batch(6).with_options({.seed = 4, .auto_shard_policy = AutoShardPolicy::file});
    for (int64_t size : {1, 2, 3, 5}) {
      std::string state;
      std::vector<TextBatches> ranks = texts_of_ranks(dataset, size, 1);
      EXPECT_EQ(sorted(ranks), expected);
      for (const TextBatches& rank : ranks) EXPECT_EQ(rank.size(), ranks[0].size());
      // The place is the same for all ranks, also where some are at their end.
      size_t at = ranks[0].size() - 1;
      std::vector<TextBatches> again = texts_of_ranks(dataset, size, 1, {}, at, &state);
      EXPECT_EQ(again, ranks);
      std::vector<TextBatches> rest = texts_of_ranks(dataset, size, 1, state);
      for (size_t rank = 0; rank < rest.size(); ++rank)
        EXPECT_EQ(rest[rank],
                  TextBatches(ranks[rank].begin() + std::ptrdiff_t(at), ranks[rank].end()));
      EXPECT_NE(message_of([&] { dataset.iterate({.state = state}); }).find("that share files"),
                std::string::npos);
    }
    EXPECT_NE(
        message_of([&] { dataset.iterate({.slice = rank_of(0, 6)}); }).find("5 files for 6 ranks"),
        std::string::npos);
  }
  EXPECT_FALSE(text_lines(paths)
                   .batch(2)
                   .with_options({.auto_shard_policy = AutoShardPolicy::file})
                   .batches()
                   .size());
}

TEST(SharedFiles, NeedFilesAndABatch) {
  DatasetOptions by_file{.auto_shard_policy = AutoShardPolicy::file};
  Dataset numbers = range(9).batch(3).with_options(by_file);
  EXPECT_NE(message_of([&] { numbers.iterate({.slice = rank_of(0, 2)}); }).find("reads no files"),
            std::string::npos);
  Dataset small = counted_texts(9).batch(1).with_options(by_file);
  EXPECT_NE(message_of([&] { small.iterate({.slice = rank_of(0, 2)}); }).find("no row for rank 0"),
            std::string::npos);
}

TEST(SharedNothing, WalksTheWholeDatasetOnEveryRank) {
  Dataset dataset =
      counted_texts(9).batch(4).with_options({.auto_shard_policy = AutoShardPolicy::off});
  std::vector<TextBatches> ranks = texts_of_ranks(dataset, 3, 2);
  EXPECT_EQ(ranks[0].size(), 6U);
  EXPECT_EQ(ranks[1], ranks[0]);
  EXPECT_EQ(ranks[2], ranks[0]);
}

}  // namespace
}  // namespace stoker::data::slices
