// A walk goes on exactly where its state was taken, at any thread count.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "elements.h"
#include "support/chain_walks.h"

namespace stoker::data {
namespace {

using test::difference;
using test::draw_chain;
using test::Records;
using test::rest_of;
using test::StepRef;

constexpr size_t kLargestState = 64 * 1024;
constexpr int64_t kStateEpochs = 2;

void expect_same_rest_everywhere(const StepRef& chain, uint64_t seed, bool as_written) {
  Dataset dataset = chain->dataset().with_options({.seed = seed, .as_written = as_written});
  Records expected = naive_walk(*chain, seed, kStateEpochs);
  Iterator walk = walk_with(dataset, 3, kStateEpochs);
  for (size_t at = 0; !walk.finished(); ++at) {
    std::string state = walk.state();
    ASSERT_LE(state.size(), kLargestState);
    Iterator resumed = walk_with(dataset, at % 2 == 0 ? 1 : 7, kStateEpochs - walk.epoch(), state);
    Records rest(expected.begin() + ptrdiff_t(at), expected.end());
    ASSERT_EQ(difference(rest, rest_of(resumed)), "")
        << "chain " << seed << " from " << at << ": " << chain->text();
    walk.next();
  }
}

TEST(States, ContinueRandomChainsAtEveryElementAndAtAnotherThreadCount) {
  for (uint64_t number = 0; number < 60; ++number) {
    Rng rng(77, number);
    StepRef chain = draw_chain(rng, {.steps = 6, .errors = false});
    expect_same_rest_everywhere(chain, number, number % 3 == 0);
    if (HasFatalFailure()) return;
  }
}

Dataset shuffled() {
  return range(50)
      .shuffle()
      .map([](int64_t x) { return 3 * x; })
      .batch(4)
      .with_options({.seed = 9});
}

std::string some_state(const Dataset& dataset, int elements) {
  Iterator walk = walk_with(dataset, 2, 1);
  for (int i = 0; i < elements; ++i) walk.next();
  return walk.state();
}

TEST(States, OfAnotherChainAreRefused) {
  std::string state = some_state(shuffled(), 3);
  EXPECT_THROW(shuffled().take(4).iterate({.state = state}), ValueError);
  EXPECT_THROW(range(51).shuffle().batch(4).iterate({.state = state}), ValueError);
  EXPECT_THROW(shuffled().on_error(OnError::skip).iterate({.state = state}), ValueError);
  EXPECT_NO_THROW(shuffled().prefetch(7).with_budget({.cores = 1}).iterate({.state = state}));
}

TEST(States, FitHoweverManyElementsAreMadeAtTheSameTime) {
  auto with = [](int64_t parallel) {
    return range(9).map([](int64_t x) { return x; }, {.parallel = parallel}).batch(2);
  };
  Iterator resumed = with(8).iterate({.state = some_state(with(2), 2)});
  EXPECT_EQ((*resumed.next())[0], Tensor::from<int64_t>({4, 5}, {2}));
}

TEST(States, ThatAreCutOrDamagedAreRefused) {
  const std::string state = some_state(shuffled(), 3);
  for (size_t length = 1; length < state.size(); ++length)
    ASSERT_THROW(shuffled().iterate({.state = state.substr(0, length)}), ValueError) << length;
  for (size_t at = 0; at < state.size(); ++at)
    for (char other : {'0', '7', 'x', '"', ' ', '\0', '\xFF'}) {
      std::string damaged = state;
      if (damaged[at] == other) continue;
      damaged[at] = other;
      ASSERT_THROW(shuffled().iterate({.state = damaged}), ValueError) << damaged;
    }
  for (const char* text : {"null", "[]", "1", "\"\"", "{}", R"({"stoker_iterator":1})",
                           R"({"stoker_iterator":1,"check":1,"walk":1e999})"})
    EXPECT_THROW(shuffled().iterate({.state = text}), ValueError) << text;
}

// Work that depends on the element, so that elements overtake each other.
int64_t uneven(int64_t x) {
  auto sum = uint64_t(x);
  for (int64_t i = 0; i < (x % 7) * 2000; ++i) sum = sum * 6364136223846793005U + 1;
  return sum == 1 ? -1 : x;
}

void expect_each_once(const Dataset& dataset, const std::set<int64_t>& expected, int before) {
  std::multiset<int64_t> got;
  auto add = [&](const Batch& element) {
    for (int64_t value : element[0].values<int64_t>()) got.insert(value);
  };
  Iterator walk = walk_with(dataset, 7, 1);
  for (int i = 0; i < before; ++i) add(*walk.next());
  std::string state = walk.state();
  EXPECT_LE(state.size(), kLargestState);
  Iterator resumed = walk_with(dataset, 3, 1, state);
  while (const Batch* element = resumed.next()) add(*element);
  EXPECT_EQ(got, std::multiset<int64_t>(expected.begin(), expected.end())) << before;
}

TEST(States, OfUnorderedWalksDeliverEveryElementOnce) {
  std::set<int64_t> all, even;
  for (int64_t i = 0; i < 200; ++i) all.insert(i);
  for (int64_t i = 0; i < 200; i += 2) even.insert(i);
  Dataset plain = range(200).map(uneven, {.deterministic = false});
  for (int before : {0, 1, 17, 99, 150}) expect_each_once(plain, all, before);
  for (int before : {0, 5, 30}) expect_each_once(plain.batch(5), all, before);
  Dataset filtered = plain.filter([](int64_t x) { return x % 2 == 0; });
  for (int before : {0, 1, 17, 60}) expect_each_once(filtered, even, before);
  for (int before : {0, 5, 20}) expect_each_once(filtered.shuffle(10).batch(4), even, before);
}

TEST(States, StaySmallWhenOneElementIsVeryLate) {
  std::atomic<bool> let_go = false;
  Dataset late = range(20'000).map(
      [&let_go](int64_t x) {
        if (x == 0) let_go.wait(false);
        return x;
      },
      {.deterministic = false});
  Iterator walk = walk_with(late, 2, 1);
  for (int i = 0; i < 1500; ++i) ASSERT_NE((*walk.next())[0].item(), 0);
  EXPECT_LE(walk.state().size(), kLargestState);
  let_go = true;
  let_go.notify_all();
  int64_t count = 1500;
  for (; walk.next() != nullptr; ++count) ASSERT_LE(walk.state().size(), kLargestState);
  EXPECT_EQ(count, 20'000);
}

TEST(Shards, OfAnyNumberOfReadersMakeUpTheGlobalBatches) {
  constexpr int64_t kBatch = 8;
  Dataset source =
      range(100).shuffle().map([](int64_t x, Rng& rng) { return 1000 * x + rng.integer(0, 1000); });
  auto seeded = [](const Dataset& dataset) { return dataset.with_options({.seed = 4}); };
  auto sorted = [](Integers values) {
    std::sort(values.begin(), values.end());
    return values;
  };
  std::vector<Batch> global = all_of(seeded(source.batch(kBatch)));
  for (int64_t readers : {1, 2, 4}) {
    std::vector<std::vector<Batch>> parts;
    for (int64_t reader = 0; reader < readers; ++reader)
      parts.push_back(all_of(seeded(source.shard(readers, reader).batch(kBatch / readers))));
    for (size_t number = 0; number < global.size(); ++number) {
      auto values = global[number][0].values<int64_t>();
      Integers whole(values.begin(), values.end()), joined;
      for (const std::vector<Batch>& part : parts) {
        ASSERT_LT(number, part.size());
        auto some = part[number][0].values<int64_t>();
        joined.insert(joined.end(), some.begin(), some.end());
      }
      EXPECT_EQ(sorted(joined), sorted(whole)) << readers << " readers, batch " << number;
    }
  }
}

}  // namespace
}  // namespace stoker::data
