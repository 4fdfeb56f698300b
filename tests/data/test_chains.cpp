// Random chains against a naive interpreter of the same chain, bit for bit.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/chain_walks.h"

namespace stoker::data {
namespace {

using test::draw_chain;
using test::real_walk;
using test::Records;
using test::StepRef;

constexpr int kChains = 300;
constexpr int64_t kEpochs = 3;

Dataset prepared(const StepRef& chain, uint64_t seed, bool as_written) {
  return chain->dataset().with_options({.seed = seed, .as_written = as_written});
}

TEST(Chains, GiveWhatANaiveInterpreterGivesAtAnyThreadCount) {
  for (uint64_t number = 0; number < kChains; ++number) {
    Rng rng(2026, number);
    StepRef chain = draw_chain(rng, {.errors = number % 2 == 0});
    Records expected = naive_walk(*chain, number, kEpochs);
    for (bool as_written : {false, true}) {
      Dataset dataset = prepared(chain, number, as_written);
      for (int threads : {1, 2, 7, 16}) {
        Records got = real_walk(dataset, threads, kEpochs);
        ASSERT_EQ(difference(expected, got), "")
            << "chain " << number << ", " << threads << " threads"
            << (as_written ? ", as written: " : ": ") << chain->text();
      }
    }
  }
}

}  // namespace
}  // namespace stoker::data
