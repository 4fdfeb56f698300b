#include <list>
#include <numeric>
#include <ranges>

#include "train/fit/array_batches.h"
#include "train/fit/feed.h"
#include "train/helpers.h"

namespace stoker {
namespace {

std::vector<double> first_values(const Batches& batches) {
  std::vector<double> values;
  std::unique_ptr<BatchStream> walk = batches.begin_walk();
  while (const Batch* batch = walk->next()) values.push_back((*batch)[0].item());
  return values;
}

Batch batch_of(float value) { return {Tensor(value)}; }

TEST(Batches, AreAnyRange) {
  std::vector<Batch> vector = {batch_of(1), batch_of(2)};
  std::list<std::vector<Tensor>> list = {{Tensor(3.0F)}, {Tensor(4.0F)}};
  auto view =
      std::views::iota(5, 8) | std::views::transform([](int i) { return batch_of(float(i)); });
  EXPECT_EQ(first_values(vector), (std::vector<double>{1, 2}));
  EXPECT_EQ(first_values(list), (std::vector<double>{3, 4}));
  EXPECT_EQ(first_values(view), (std::vector<double>{5, 6, 7}));
  Batches kept(std::vector<Batch>{batch_of(9)});
  EXPECT_EQ(first_values(kept), (std::vector<double>{9}));
  EXPECT_EQ(first_values(kept), (std::vector<double>{9}));  // again
  EXPECT_EQ(kept.size(), 1);
  EXPECT_TRUE(kept.repeatable());
}

TEST(Batches, AreAGeneratorThatIsWalkedOnce) {
  Batches batches([left = 3]() mutable -> std::optional<Batch> {
    if (left == 0) return std::nullopt;
    return batch_of(float(left--));
  });
  EXPECT_FALSE(batches.repeatable());
  EXPECT_FALSE(batches.size());
  EXPECT_EQ(first_values(batches), (std::vector<double>{3, 2, 1}));
}

// A pipeline of a model's fit, evaluate and predict is set up by that model's Context.
TEST(Batches, OfAPipelineFollowTheContextOfTheModel) {
  Context context;
  context.seed.set(11);
  context.threads = {.pipeline = 1, .compute = 1};
  context.out = nullptr;
  Tensor numbers(DType::float32, {32, 1});
  for (int64_t i = 0; i < 32; ++i) numbers.data_mut<float>()[i] = float(i);
  data::Dataset dataset = data::from_slices({numbers}).shuffle().batch(8);
  Sequential model({Input({1}), Activation("linear")});
  model.compile({.loss = "mse", .context = &context});

  std::vector<double> expected, others;
  data::Iterator walk = dataset.iterate({.context = &context}), other = dataset.iterate();
  while (const Batch* batch = walk.next())
    for (int64_t i = 0; i < 8; ++i) expected.push_back((*batch)[0].at(i));
  while (const Batch* batch = other.next())
    for (int64_t i = 0; i < 8; ++i) others.push_back((*batch)[0].at(i));
  ASSERT_NE(expected, others) << "the default context has another seed";

  Tensor predicted = model.predict(dataset);
  for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(predicted.at(i), expected[size_t(i)]) << i;
}

std::vector<double> epoch_values(Feed& feed, int64_t epoch) {
  std::vector<double> values;
  feed.begin_epoch(epoch);
  while (const Batch* batch = feed.next())
    for (int64_t i = 0; i < (*batch)[0].elements(); ++i) values.push_back((*batch)[0].at(i));
  return values;
}

Tensor counting(int64_t count) {
  Tensor tensor(DType::float32, {count});
  for (int64_t i = 0; i < count; ++i) tensor.data_mut<float>()[i] = float(i);
  return tensor;
}

TEST(ArrayBatches, CutRowsInOrder) {
  ArrayBatches batches({counting(7), counting(7)}, 3);
  EXPECT_EQ(batches.steps(), 3);
  batches.begin_in_order();
  EXPECT_EQ((*batches.next())[0], counting(3));
  batches.next();
  EXPECT_EQ((*batches.next())[1].at(0), 6);
  EXPECT_EQ(batches.next(), nullptr);
}

TEST(ArrayBatches, ShuffleKeepsRowsTogether) {
  Tensor x = test::normal({50, 3}, 1), index = counting(50);
  ArrayBatches batches({x, index}, 8);
  batches.begin_shuffled(1, 0);
  std::vector<bool> seen(50);
  int64_t moved = 0, position = 0;
  while (const Batch* batch = batches.next())
    for (int64_t row = 0; row < (*batch)[1].elements(); ++row, ++position) {
      auto original = int64_t((*batch)[1].at(row));
      EXPECT_EQ((*batch)[0][row], x[original]);
      EXPECT_FALSE(seen[size_t(original)]);
      seen[size_t(original)] = true;
      moved += original != position;
    }
  EXPECT_EQ(position, 50);
  EXPECT_GT(moved, 40);
}

TEST(Permutation, IsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(permutation(100, 1, 2), permutation(100, 1, 2));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 1, 3));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 2, 2));
  EXPECT_TRUE(permutation(0, 1, 1).empty());
  EXPECT_EQ(permutation(1, 1, 1), std::vector<int64_t>{0});
}

TEST(Permutation, IsTheShuffleThatAGeneratorDraws) {
  for (int64_t count : {2, 3, 255, 256, 257, 5000}) {
    std::vector<int64_t> expected(static_cast<size_t>(count));
    std::iota(expected.begin(), expected.end(), int64_t(0));
    Rng rng(9, 4);
    for (int64_t last = count - 1; last > 0; --last)
      std::swap(expected[size_t(last)], expected[size_t(rng.integer(0, last + 1))]);
    EXPECT_EQ(permutation(count, 9, 4), expected) << count;
  }
}

TEST(Feed, GoesOnWhereTheLastEpochEndedWhenStepsAreGiven) {
  Feed feed({counting(5)}, 1, {.steps = 3, .restart = false});
  EXPECT_EQ(epoch_values(feed, 0), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(epoch_values(feed, 1), (std::vector<double>{3, 4, 0}));
  EXPECT_EQ(feed.steps(), 3);
}

TEST(Feed, RestartsForValidation) {
  Feed feed({counting(5)}, 1, {.steps = 3});
  EXPECT_EQ(epoch_values(feed, 0), epoch_values(feed, 0));
}

TEST(Feed, ShufflesEveryEpochAnew) {
  Feed feed({counting(40)}, 4, {.shuffle = true, .seed = 3});
  std::vector<double> first = epoch_values(feed, 0), second = epoch_values(feed, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(epoch_values(feed, 0), first);
}

TEST(Feed, APeekedBatchIsNotLost) {
  Feed feed({counting(3)}, 1, {});
  feed.begin_epoch(0);
  EXPECT_EQ((*feed.peek())[0].item(), 0);
  EXPECT_EQ(epoch_values(feed, 0), (std::vector<double>{0, 1, 2}));
}

TEST(Fit, TakesBatchesOfDifferentSizesAndADeferredModel) {
  test::OnDevice device;
  test::Data data = test::line(20, 1);
  std::vector<Batch> batches;
  for (int64_t at = 0; at < 20; at += 8)
    batches.push_back({data.x.slice(at, std::min<int64_t>(at + 8, 20)),
                       data.y.slice(at, std::min<int64_t>(at + 8, 20))});
  Sequential model({Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
  History history = model.fit(batches, {.epochs = 30, .validation_data = batches});
  EXPECT_EQ(history.params().steps, 3);
  EXPECT_LT(history["val_loss"].back(), 0.01);
  EXPECT_NEAR(model.evaluate(batches)["loss"], history["val_loss"].back(), 1e-6);
}

}  // namespace
}  // namespace stoker
