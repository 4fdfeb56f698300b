#include <gtest/gtest.h>
#include <stoker/text.h>

#include "data/elements.h"

namespace stoker::data {
namespace {

std::vector<Integers> windows_in(const Dataset& dataset, int threads = 2) {
  Iterator walk = walk_with(dataset, threads);
  std::vector<Integers> all;
  while (const Batch* element = walk.next()) all.push_back((*element)[0].to_vector<int64_t>());
  return all;
}

// The same numbers as a stream.
Dataset stream(int64_t count) {
  return from_generator(kNumber, [count] {
    return [count, next = int64_t(0)]() mutable -> std::optional<Batch> {
      if (next == count) return {};
      return Batch{Tensor::from({next++}, {})};
    };
  });
}

TEST(Window, TakesNeighboursAsTfDataDoes) {
  using All = std::vector<Integers>;
  struct Case {
    int64_t count, size;
    WindowOptions options;
    All expected;
  };
  const Case cases[] = {
      {7, 3, {}, {{0, 1, 2}, {3, 4, 5}, {6}}},
      {7, 3, {.drop_remainder = true}, {{0, 1, 2}, {3, 4, 5}}},
      {5, 3, {.shift = 1}, {{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4}, {4}}},
      {5, 3, {.shift = 1, .drop_remainder = true}, {{0, 1, 2}, {1, 2, 3}, {2, 3, 4}}},
      {7, 3, {.shift = 1, .stride = 2, .drop_remainder = true}, {{0, 2, 4}, {1, 3, 5}, {2, 4, 6}}},
      {6, 2, {.shift = 4, .stride = 3}, {{0, 3}, {4}}},
      {9, 2, {.shift = 5}, {{0, 1}, {5, 6}}},
      {2, 3, {.drop_remainder = true}, {}},
  };
  for (const Case& each : cases) {
    Dataset windows = range(each.count).window(each.size, each.options);
    EXPECT_EQ(windows_in(windows), each.expected) << windows.explain();
    EXPECT_EQ(windows.cardinality().count, int64_t(each.expected.size()));
    EXPECT_EQ(windows_in(stream(each.count).window(each.size, each.options)), each.expected);
  }
}

TEST(Window, KnowsItsShape) {
  EXPECT_EQ(to_string(range(10).window(3).spec()), "(int64[None])");
  EXPECT_EQ(to_string(range(9).window(3).spec()), "(int64[3])");
  EXPECT_EQ(to_string(range(10).window(3, {.drop_remainder = true}).spec()), "(int64[3])");
  EXPECT_THROW(range(10).window(0), ValueError);
  EXPECT_THROW(range(10).window(2, {.shift = 0}), ValueError);
  EXPECT_THROW(range(10).window(2, {.stride = 0}), ValueError);
}

TEST(Window, ShufflesBatchesAndResumes) {
  Dataset windows =
      range(1000).window(5, {.shift = 2, .drop_remainder = true}).shuffle({.seed = 9}).batch(16);
  auto expected = windows_in(windows, 1);
  EXPECT_EQ(windows_in(windows, 3), expected);
  Iterator walk = walk_with(windows, 2);
  for (int at = 0; at < 10; ++at) walk.next();
  Iterator later = walk_with(windows, 2, 1, walk.state());
  EXPECT_EQ((*later.next())[0].to_vector<int64_t>(), expected[10]);
}

TEST(Window, AStreamOfWindowsResumesExactly) {
  Dataset windows = stream(100).window(5, {.shift = 2, .drop_remainder = true});
  auto expected = windows_in(windows);
  Iterator walk = walk_with(windows, 2);
  for (int at = 0; at < 10; ++at) walk.next();
  Iterator later = walk_with(windows, 1, 1, walk.state());
  EXPECT_EQ((*later.next())[0].to_vector<int64_t>(), expected[10]);
}

TEST(Window, OfAnEndlessDatasetIsEndless) {
  Dataset windows = range(3).repeat().window(2);
  EXPECT_TRUE(windows.cardinality().infinite());
  EXPECT_EQ(windows_in(windows.take(3)), (std::vector<Integers>{{0, 1}, {2, 0}, {1, 2}}));
}

TEST(TimeseriesWindows, RefusesWhatDoesNotFitTheSeries) {
  Tensor series = Tensor::zeros({20, 3});
  EXPECT_EQ(to_string(timeseries_windows(series, 5, {.batch_size = 0}).spec()), "(float32[5, 3])");
  EXPECT_THROW(timeseries_windows(series, 21), ValueError);
  EXPECT_THROW(timeseries_windows(series, 5, {.sampling_rate = 20}), ValueError);
  EXPECT_THROW(timeseries_windows(series, 5, {.sequence_stride = 0}), ValueError);
  EXPECT_THROW(timeseries_windows(series, 5, {.start_index = 20}), ValueError);
  EXPECT_THROW(timeseries_windows(series, 5, {.start_index = 5, .end_index = 5}), ValueError);
  EXPECT_THROW(timeseries_windows(series, 5, {.seed = 1}), ValueError);
  EXPECT_THROW(timeseries_windows(series, Tensor(), 5), ShapeError);
}

TEST(TimeseriesWindows, TargetsStayWithTheirWindowsWhenShuffled) {
  std::vector<int64_t> rows(50);
  for (size_t row = 0; row < rows.size(); ++row) rows[row] = int64_t(row);
  Tensor series = Tensor::from(rows, {50});
  Dataset windows = timeseries_windows(series, series.slice(4, 50), 4,
                                       {.batch_size = 8, .shuffle = true, .seed = 1});
  int64_t count = 0;
  for (const Batch& batch : windows)
    for (int64_t row = 0; row < batch[0].shape()[0]; ++row, ++count)
      EXPECT_EQ(batch[0][row].at(3) + 1, batch[1].at(row));
  EXPECT_EQ(count, 46);
}

}  // namespace
}  // namespace stoker::data
