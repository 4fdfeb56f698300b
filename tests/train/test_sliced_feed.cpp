// The rows of one of several ranks, of every kind of data that fit takes.
#include <gtest/gtest.h>

#include <stoker/dataset.h>

#include "train/fit/feed.h"

namespace stoker {
namespace {

using Numbers = std::vector<int64_t>;

Tensor numbers(int64_t count) {
  Tensor column(DType::int64, {count});
  for (int64_t i = 0; i < count; ++i) column.data_mut<int64_t>()[i] = i;
  return column;
}

BatchSlice rank_of(int64_t rank, int64_t size) { return {.rank = rank, .size = size}; }

// The rest of `epochs` epochs, an end of each as -1.
Numbers rest_of(Feed& feed, int64_t epochs, int64_t first = 0, bool begins = true) {
  Numbers values;
  for (int64_t epoch = first; epoch < epochs; ++epoch) {
    if (begins) feed.begin_epoch(epoch);
    begins = true;
    while (const Batch* batch = feed.next())
      for (int64_t value : (*batch)[0].values<int64_t>()) values.push_back(value);
    values.push_back(-1);
  }
  return values;
}

Feed make(const std::string& kind, std::optional<BatchSlice> slice) {
  FeedOptions options{.epochs = 2, .shuffle = kind == "shuffled", .seed = 3, .slice = slice};
  if (kind == "arrays" || kind == "shuffled") return {{numbers(22)}, 4, options};
  if (kind == "dataset")
    return {data::from_slices(numbers(22)).shuffle().batch(4).with_options({.seed = 1}), options};
  std::vector<Batch> batches;
  for (int64_t begin = 0; begin < 22; begin += 4)
    batches.push_back({numbers(22).slice(begin, std::min<int64_t>(begin + 4, 22))});
  return {Batches(std::move(batches)), options};
}

TEST(SlicedFeed, GivesEveryRowToOneRankFromAnySource) {
  for (const char* kind : {"arrays", "shuffled", "dataset", "range"}) {
    Feed whole = make(kind, {});
    Numbers expected = rest_of(whole, 2);
    for (int64_t size : {1, 2, 3, 5}) {
      std::vector<Feed> ranks;
      for (int64_t rank = 0; rank < size; ++rank) ranks.push_back(make(kind, rank_of(rank, size)));
      Numbers together;
      for (int64_t epoch = 0; epoch < 2; ++epoch) {
        for (Feed& feed : ranks) feed.begin_epoch(epoch);
        for (bool more = true; more;) {
          int64_t rows = 0, whole_rows = 0;
          for (Feed& feed : ranks) {
            const Batch* batch = feed.next();
            more = batch != nullptr;
            if (!more) continue;
            rows += (*batch)[0].shape()[0];
            whole_rows = feed.whole_rows();
            for (int64_t value : (*batch)[0].values<int64_t>()) together.push_back(value);
          }
          if (more) {
            EXPECT_EQ(rows, whole_rows) << kind;
          }
        }
        together.push_back(-1);
      }
      EXPECT_EQ(together, expected) << kind << ", " << size << " ranks";
    }
  }
}

TEST(SlicedFeed, GoesOnWithAnotherNumberOfRanks) {
  for (const char* kind : {"arrays", "shuffled", "dataset", "range"}) {
    Feed four = make(kind, rank_of(2, 4));
    four.begin_epoch(0);
    for (int step = 0; step < 3; ++step) four.next();
    FeedState state = four.state();
    Feed whole = make(kind, {});
    whole.restore(state);
    Numbers expected = rest_of(whole, 1, 0, false), together;
    std::vector<Feed> ranks;
    for (int64_t rank = 0; rank < 3; ++rank) {
      ranks.push_back(make(kind, rank_of(rank, 3)));
      ranks.back().restore(state);
    }
    for (bool more = true; more;)
      for (Feed& feed : ranks) {
        const Batch* batch = feed.next();
        more = batch != nullptr;
        if (more)
          for (int64_t value : (*batch)[0].values<int64_t>()) together.push_back(value);
      }
    together.push_back(-1);
    EXPECT_EQ(together, expected) << kind;
  }
}

TEST(SlicedFeed, RefusesBatchesWhoseTensorsHaveOtherRows) {
  std::vector<Batch> uneven{{numbers(4), numbers(5)}};
  Feed feed(Batches(std::move(uneven)), {.slice = rank_of(0, 2)});
  feed.begin_epoch(0);
  EXPECT_THROW(feed.next(), ShapeError);
}

}  // namespace
}  // namespace stoker
