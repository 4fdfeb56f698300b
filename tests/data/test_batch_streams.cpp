// Datasets as fit sees them: Batches whose walks tell where they stand.
#include <gtest/gtest.h>
#include <stoker/dataset.h>

#include <string>
#include <vector>

namespace stoker {
namespace {

data::Dataset chain() {
  return data::range(23)
      .shuffle()
      .map([](int64_t value, Rng& rng) { return float(value) + rng.uniform(); })
      .batch(4)
      .with_options({.seed = 5});
}

// What a batch holds, as text; "|" for the end of an epoch.
std::string next(BatchStream& walk) {
  const Batch* batch = walk.next();
  if (batch == nullptr) return "|";
  std::string text;
  for (float value : (*batch)[0].values<float>()) text += std::to_string(value) + " ";
  return text;
}

TEST(BatchStream, GoesOnExactlyBehindTheBatchThatWasReturnedLast) {
  Batches batches = chain().batches();
  std::vector<std::string> all, states;
  auto walk = batches.begin_walk({.epoch = 3, .more_follow = true});
  for (int count = 0; count < 20; ++count) {
    states.push_back(walk->state());
    all.push_back(next(*walk));
  }
  for (size_t from = 0; from < all.size(); ++from) {
    auto later = batches.begin_walk({.more_follow = true, .state = states[from]});
    for (size_t at = from; at < all.size(); ++at)
      ASSERT_EQ(next(*later), all[at]) << "from " << from << " at " << at;
  }
}

TEST(BatchStream, WithoutMoreEpochsEndsWithTheOneThatTheStateIsIn) {
  Batches batches = chain().batches();
  auto walk = batches.begin_walk({.epoch = 1});
  next(*walk);
  auto later = batches.begin_walk({.state = walk->state()});
  int count = 0;
  while (later->next() != nullptr) ++count;
  EXPECT_EQ(count, 5);
  EXPECT_EQ(later->next(), nullptr);
}

TEST(BatchStream, OfAPlainRangeCannotTellWhereItStands) {
  std::vector<Batch> list = {Batch{Tensor(1.0F)}, Batch{Tensor(2.0F)}};
  auto walk = Batches(list).begin_walk();
  walk->next();
  EXPECT_EQ(walk->state(), "");
}

}  // namespace
}  // namespace stoker
