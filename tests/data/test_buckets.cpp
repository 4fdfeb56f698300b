// bucket_by_sequence_length, and padding to a multiple.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elements.h"

namespace stoker::data {
namespace {

using testing::HasSubstr;

// n → [n, n, …], n times, and the label 10 n.
Dataset sequences(const Integers& lengths) {
  return from_slices(Tensor::from(lengths, {int64_t(lengths.size())})).map([](int64_t n) {
    return std::tuple(std::vector<int64_t>(size_t(n), n), 10 * n);
  });
}

// The labels of each batch.
std::vector<Integers> labels(const std::vector<Batch>& batches, size_t component = 1) {
  std::vector<Integers> all;
  for (const Batch& batch : batches) {
    all.emplace_back();
    for (int64_t i = 0; i < batch[component].elements(); ++i)
      all.back().push_back(int64_t(batch[component].at(i)));
  }
  return all;
}

std::string text_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Buckets, BatchElementsOfSimilarLengthInTheOrderInWhichTheyFill) {
  Dataset buckets =
      sequences({1, 5, 2, 7, 3, 4, 9, 1, 6}).bucket_by_sequence_length({3, 6}, {2, 3, 2});
  EXPECT_EQ(to_string(buckets.spec()), "(int64[None, None], int64[None])");
  std::vector<Batch> batches = all_of(buckets);
  // Below 3: 1 and 2, later 1. Below 6: 5, 3, 4. Others: 7, 9, later 6.
  EXPECT_EQ(labels(batches), (std::vector<Integers>{{10, 20}, {50, 30, 40}, {70, 90}, {10}, {60}}));
  EXPECT_EQ(batches[0][0], Tensor::from<int64_t>({1, 0, 2, 2}, {2, 2}));
  EXPECT_EQ(batches[1][0].shape(), Shape({3, 5}));
}

TEST(Buckets, MayDropWhatIsLeftAtTheEnd) {
  Dataset buckets =
      sequences({1, 5, 2, 1, 4}).bucket_by_sequence_length({3}, {2, 2}, {.drop_remainder = true});
  EXPECT_EQ(labels(all_of(buckets)), (std::vector<Integers>{{10, 20}, {50, 40}}));
}

TEST(Buckets, PadToTheirBoundaryWithAMaskAndValuesPerComponent) {
  Dataset buckets = sequences({1, 2, 5}).bucket_by_sequence_length(
      {4, 8}, {2, 1, 1}, {.pad_to_bucket_boundary = true, .padding_values = {-1, 0}, .mask = true});
  std::vector<Batch> batches = all_of(buckets);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0][0], Tensor::from<int64_t>({1, -1, -1, 2, 2, -1}, {2, 3}));
  EXPECT_EQ(batches[0][2].shape(), Shape({2, 3}));
  EXPECT_EQ(batches[0][2].at(4), 1);
  EXPECT_EQ(batches[0][2].at(5), 0);
  EXPECT_EQ(batches[1][0].shape(), Shape({1, 7}));
}

TEST(Buckets, GoByAnyLength) {
  Dataset buckets =
      sequences({1, 2, 3, 4})
          .bucket_by_sequence_length({25}, {2, 2}, {.length = [](const Batch& element) {
                                       return int64_t(element[1].item());
                                     }});
  EXPECT_EQ(labels(all_of(buckets)), (std::vector<Integers>{{10, 20}, {30, 40}}));
}

TEST(Buckets, GoOnExactlyFromEveryState) {
  Dataset buckets = range(60)
                        .shuffle()
                        .map([](int64_t n) { return std::vector<int64_t>(size_t(n % 9), n); })
                        .bucket_by_sequence_length({3, 6}, {3, 4, 5})
                        .with_options({.seed = 4});
  auto text = [](const Batch& batch) {
    std::string all = to_string(batch[0].shape());
    for (int64_t i = 0; i < batch[0].elements(); ++i) all += " " + std::to_string(batch[0].at(i));
    return all;
  };
  std::vector<std::string> expected;
  Iterator whole = walk_with(buckets, 1, 2);
  while (!whole.finished())
    if (const Batch* batch = whole.next()) expected.push_back(text(*batch));
  Iterator walk = walk_with(buckets, 3, 2);
  for (size_t at = 0; !walk.finished();) {
    Iterator resumed = walk_with(buckets, at % 2 == 0 ? 1 : 5, 2 - walk.epoch(), walk.state());
    for (size_t next = at; !resumed.finished();)
      if (const Batch* batch = resumed.next()) {
        ASSERT_LT(next, expected.size());
        ASSERT_EQ(text(*batch), expected[next++]) << "from " << at;
      }
    if (walk.next() != nullptr) ++at;
  }
  EXPECT_GT(expected.size(), 20U);
}

TEST(Buckets, SayWhatIsWrong) {
  Dataset some = sequences({1, 2});
  EXPECT_THAT(text_of([&] {
                some.bucket_by_sequence_length({5, 3}, {1, 1, 1});
              }),
              HasSubstr("boundaries are {5, 3}"));
  EXPECT_THAT(text_of([&] { some.bucket_by_sequence_length({5}, {1}); }),
              HasSubstr("expected 2 positive numbers"));
  EXPECT_THAT(text_of([&] {
                some.bucket_by_sequence_length({5}, {1, 1}, {.padding_values = {0, 0, 0}});
              }),
              HasSubstr("got 3 padding_values, expected 1, or 2"));
  EXPECT_THAT(text_of([&] {
                range(4).bucket_by_sequence_length({5}, {1, 1});
              }),
              HasSubstr("give .length"));
  EXPECT_THAT(
      text_of([&] {
        all_of(some.bucket_by_sequence_length({2}, {1, 1}, {.pad_to_bucket_boundary = true}));
      }),
      HasSubstr("add a boundary"));
  EXPECT_THAT(
      text_of([&] {
        all_of(some.bucket_by_sequence_length({2}, {1, 1}, {.length = [](const Batch&) -> int64_t {
                                                throw ValueError("no length today");
                                              }}));
      }),
      HasSubstr("no length today"));
}

TEST(PaddedBatch, RoundsLengthsUpToAMultiple) {
  Dataset padded = sequences({1, 3, 5, 8}).padded_batch(2, {.multiple_of = 4});
  std::vector<Batch> batches = all_of(padded);
  EXPECT_EQ(batches[0][0].shape(), Shape({2, 4}));
  EXPECT_EQ(batches[1][0].shape(), Shape({2, 8}));
  EXPECT_THROW(sequences({1}).padded_batch(1, {.multiple_of = 0}), ValueError);
  EXPECT_THROW(sequences({1}).padded_batch(1, {.lengths = {4}, .multiple_of = 2}), ValueError);
}

}  // namespace
}  // namespace stoker::data
