// Thousands of fresh random chains, and restores of hundreds of them at every element.
#include <gtest/gtest.h>

#include "support/chain_walks.h"
#include "support/draw.h"

namespace stoker::data {
namespace {

using test::difference;
using test::Records;
using test::rest_of;
using test::StepRef;

TEST(SlowChains, GiveWhatANaiveInterpreterGives) {
  uint64_t seed = test::fresh_seed();
  for (uint64_t number = 0; number < 4000; ++number) {
    Rng rng(seed, number);
    StepRef chain = test::draw_chain(rng, {.steps = 10, .errors = number % 2 == 0});
    Records expected = naive_walk(*chain, number, 3);
    int threads = std::array{1, 2, 7, 16}[number % 4];
    for (bool as_written : {false, true}) {
      Dataset dataset = chain->dataset().with_options({.seed = number, .as_written = as_written});
      ASSERT_EQ(difference(expected, test::real_walk(dataset, threads, 3)), "")
          << "STOKER_TEST_SEED=" << seed << ", chain " << number << ", " << threads
          << " threads, as written: " << as_written << ": " << chain->text();
    }
  }
}

TEST(SlowChains, ContinueAtEveryElement) {
  uint64_t seed = test::fresh_seed();
  for (uint64_t number = 0; number < 400; ++number) {
    Rng rng(seed, 1'000'000 + number);
    StepRef chain = test::draw_chain(rng, {.errors = false});
    Dataset dataset =
        chain->dataset().with_options({.seed = number, .as_written = number % 3 == 0});
    Records expected = naive_walk(*chain, number, 2);
    Context many{.threads = {.pipeline = 7}}, one{.threads = {.pipeline = 1}};
    Iterator walk = dataset.iterate({.epochs = 2, .context = &many});
    for (size_t at = 0; !walk.finished(); ++at) {
      Iterator resumed = dataset.iterate({.epochs = 2 - walk.epoch(),
                                          .state = walk.state(),
                                          .context = at % 2 == 0 ? &one : &many});
      Records rest(expected.begin() + ptrdiff_t(at), expected.end());
      ASSERT_EQ(difference(rest, rest_of(resumed)), "")
          << "STOKER_TEST_SEED=" << seed << ", chain " << number << " from " << at << ": "
          << chain->text();
      walk.next();
    }
  }
}

}  // namespace
}  // namespace stoker::data
