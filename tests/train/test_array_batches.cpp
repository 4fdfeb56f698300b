// Batches of arrays that threads put together ahead of the device that takes them.
#include <atomic>

#include "base/host_memory.h"
#include "train/fit/array_batches.h"
#include "train/fit/feed.h"
#include "train/helpers.h"

namespace stoker {
namespace {

constexpr int64_t kRows = 53, kBatch = 8;  // the last batch is smaller

std::vector<Tensor> columns() {
  Tensor index(DType::int32, {kRows});
  for (int64_t i = 0; i < kRows; ++i) index.data_mut<int32_t>()[i] = int32_t(i);
  return {test::normal({kRows, 3}, 1), index};
}

std::vector<Batch> walked(ArrayBatches& batches) {
  std::vector<Batch> found;
  while (const Batch* batch = batches.next()) {
    found.emplace_back();
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : *batch) tensors.push_back(tensor.clone());
    found.back() = Batch(std::move(tensors));
  }
  return found;
}

void expect_same(const std::vector<Batch>& got, const std::vector<Batch>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].tensors(), expected[i].tensors()) << i;
}

// What a GPU's engine would hand out; counts, and fails when it is told to.
class CountedMemory final : public HostMemory {
 public:
  void* allocate(size_t bytes) override {
    if (fails) throw Error("no memory is left");
    ++blocks;
    most = std::max<int>(most, blocks);
    return ordinary_memory().allocate(bytes);
  }
  void release(void* memory, size_t bytes) noexcept override {
    --blocks;
    ordinary_memory().release(memory, bytes);
  }
  bool page_locked() const override { return true; }

  std::atomic<int> blocks = 0, most = 0;
  std::atomic<bool> fails = false;
};

class MadeAhead : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, MadeAhead, testing::Values(1, 2, 5));

TEST_P(MadeAhead, BatchesAreTheSame) {
  ArrayBatches ahead(columns(), kBatch, GetParam()), plain(columns(), kBatch);
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    ahead.begin_shuffled(7, epoch, epoch < 3);
    plain.begin_shuffled(7, epoch);
    expect_same(walked(ahead), walked(plain));
    EXPECT_EQ(ahead.next(), nullptr);
  }
  ahead.begin_in_order();
  plain.begin_in_order();
  expect_same(walked(ahead), walked(plain));
}

TEST_P(MadeAhead, ANextEpochThatIsNotTheNextIsRightToo) {
  ArrayBatches ahead(columns(), kBatch, GetParam()), plain(columns(), kBatch);
  ahead.begin_shuffled(7, 0, true);
  walked(ahead);
  for (auto [seed, epoch] : {std::pair<uint64_t, uint64_t>(7, 5), {8, 1}}) {
    ahead.begin_shuffled(seed, epoch, true);
    plain.begin_shuffled(seed, epoch);
    expect_same(walked(ahead), walked(plain));
  }
}

TEST_P(MadeAhead, AWalkMayBeginAnewAndPassOverBatches) {
  ArrayBatches ahead(columns(), kBatch, GetParam()), plain(columns(), kBatch);
  ahead.begin_shuffled(1, 0);
  for (int i = 0; i < 3; ++i) ahead.next();
  for (ArrayBatches* each : {&ahead, &plain}) {
    each->begin_shuffled(1, 1);
    EXPECT_TRUE(each->skip(2));
  }
  expect_same({*ahead.next()}, {*plain.next()});
  for (ArrayBatches* each : {&ahead, &plain}) EXPECT_TRUE(each->skip(1));
  expect_same(walked(ahead), walked(plain));
  EXPECT_FALSE(ahead.skip(1));
}

TEST_P(MadeAhead, ABatchThatIsKeptKeepsItsRows) {
  ArrayBatches ahead(columns(), kBatch, GetParam()), plain(columns(), kBatch);
  ahead.begin_shuffled(1, 0);
  plain.begin_shuffled(1, 0);
  std::vector<Batch> kept;
  while (const Batch* batch = ahead.next()) kept.push_back(*batch);
  expect_same(kept, walked(plain));
}

TEST_P(MadeAhead, MemoryIsTheDevicesAndGoesBack) {
  CountedMemory memory;
  Batch kept;
  {
    ArrayBatches ahead(columns(), kBatch, GetParam(), &memory);
    for (uint64_t epoch = 0; epoch < 20; ++epoch) {
      ahead.begin_shuffled(1, epoch, true);
      ahead.next();
      if (epoch % 2 == 0) walked(ahead);
    }
    kept = *ahead.next();
  }
  EXPECT_EQ(memory.blocks, 1) << "of the batch that is kept";
  kept = {};
  EXPECT_EQ(memory.blocks, 0);
  EXPECT_GT(memory.most, 1);
  EXPECT_LE(memory.most, 8 + 1 + GetParam());
}

TEST_P(MadeAhead, LargeBatchesAreFewAhead) {
  CountedMemory memory;
  ArrayBatches ahead({Tensor::zeros({4, int64_t(40) << 20}, DType::uint8)}, 1, GetParam(), &memory);
  ahead.begin_in_order();
  while (ahead.next() != nullptr) {
  }
  EXPECT_LE(memory.most, 2);
}

TEST_P(MadeAhead, LargeBatchesOfManyThreadsAreTheSame) {
  Tensor wide = test::normal({23, 300'000}, 2);
  ArrayBatches ahead({wide}, 4, GetParam()), plain({wide}, 4);
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    ahead.begin_shuffled(3, epoch, true);
    plain.begin_shuffled(3, epoch);
    expect_same(walked(ahead), walked(plain));
  }
}

TEST_P(MadeAhead, WhatGoesWrongIsThrownWhereTheBatchIsTaken) {
  CountedMemory memory;
  ArrayBatches ahead(columns(), kBatch, GetParam(), &memory);
  memory.fails = true;
  ahead.begin_shuffled(1, 0);
  EXPECT_THROW(ahead.next(), Error);
}

TEST_P(MadeAhead, AFeedGoesOnWhereAStateWasTaken) {
  FeedOptions options{.epochs = 3, .shuffle = true, .seed = 5, .threads_ahead = GetParam()};
  Feed plain(columns(), kBatch, {.shuffle = true, .seed = 5}), first(columns(), kBatch, options),
      second(columns(), kBatch, options);
  for (Feed* feed : {&plain, &first}) feed->begin_epoch(1);
  for (int i = 0; i < 3; ++i) expect_same({*first.next()}, {*plain.next()});
  second.restore(first.state());
  while (const Batch* batch = plain.next()) expect_same({*second.next()}, {*batch});
  EXPECT_EQ(second.next(), nullptr);
}

}  // namespace
}  // namespace stoker
