// What the machine reaches at best, and shares of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "observe/machine_peaks.h"

namespace stoker {
namespace {

const MachinePeaks kPeaks{.flops = 100e9,
                          .memory = {.read = 5e9, .copy = 10e9, .fill = 2.5e9, .update = 20e9},
                          .cache = {.read = 80e9, .copy = 80e9, .fill = 80e9, .update = 80e9},
                          .cache_size = 32e6};

// A second of an op that writes as much as it reads.
double share_of(double bytes, double held) {
  return kPeaks.bandwidth_share(std::array{Moved{.bytes = bytes, .written = bytes / 2}}, 1, held);
}

TEST(MachinePeaks, SayWhatWasMeasuredEvenIfItIsMoreThanAll) {
  EXPECT_DOUBLE_EQ(kPeaks.compute_share(50e9, 1), 0.5);
  EXPECT_DOUBLE_EQ(kPeaks.compute_share(138e9, 1), 1.38);
  EXPECT_DOUBLE_EQ(share_of(200e9, 1e9), 2.5);
  EXPECT_DOUBLE_EQ(kPeaks.bandwidth_share(std::array{Moved{.bytes = 1}}, 0, 1e9), 0);
  EXPECT_DOUBLE_EQ(MachinePeaks().bandwidth_share(std::array{Moved{.bytes = 1}}, 1, 1e9), 0);
}

TEST(MachinePeaks, CountBytesThatStayInTheCacheAsTheCaches) {
  EXPECT_DOUBLE_EQ(share_of(8e9, 1e9), 0.8);
  EXPECT_DOUBLE_EQ(share_of(8e9, 1e6), 0.1);
  // More than the memory can: it brought five eighths at most.
  EXPECT_DOUBLE_EQ(share_of(16e9, 1e9), 0.625);
  EXPECT_DOUBLE_EQ(share_of(64e9, 1e9), 0.8);
}

TEST(MachinePeaks, AskOfAStepWhatTheLevelThatHoldsItReaches) {
  auto all = [](double rate) {
    return MemoryRates{.read = rate, .copy = rate, .fill = rate, .update = rate};
  };
  MachinePeaks peaks{.memory = all(10e9), .cache = all(80e9), .cache_size = 100e6};
  peaks.levels = {{.size = 25e6, .rates = all(20e9)}, {.size = 1e6, .rates = all(80e9)}};
  auto share = [&](double bytes, double held) {
    return peaks.bandwidth_share(std::array{Moved{.bytes = bytes}}, 1, held);
  };
  EXPECT_DOUBLE_EQ(share(16e9, 60e6), 0.8) << "in the last cache, but in no core's own";
  EXPECT_DOUBLE_EQ(share(16e9, 2e6), 0.2);
  EXPECT_DOUBLE_EQ(share(16e9, 1e3), 0.2);
  EXPECT_DOUBLE_EQ(share(25e9, 60e6), 0.8) << "a part of it lay nearer";
  EXPECT_DOUBLE_EQ(share(8e9, 200e6), 0.8);
}

TEST(MachinePeaks, MeasureALevelOfTheSizeOfAStep) {
  Context context{.device = "cpu"};
  context.threads.compute = 1;
  MachinePeaks first = machine_peaks(context);
  double held = 0.7 * first.cache_size;
  ASSERT_FALSE(first.knows(held));
  MachinePeaks asked = machine_peaks(context, held);
  EXPECT_TRUE(asked.knows(held));
  EXPECT_TRUE(asked.knows(1.2 * held));
  EXPECT_EQ(asked.levels.size(), first.levels.size() + 1);
  EXPECT_EQ(machine_peaks(context, held).levels.size(), asked.levels.size()) << "once";
  EXPECT_TRUE(std::ranges::is_sorted(asked.levels, std::greater<>(), &MachinePeaks::Level::size));
  EXPECT_TRUE(first.knows(4 * first.cache_size)) << "that is the memory";
  EXPECT_TRUE(first.knows(1)) << "nothing is nearer than the nearest level";
}

TEST(MachinePeaks, AskOfAnOpWhatOneOfItsKindReaches) {
  const MemoryRates& rates = kPeaks.memory;
  EXPECT_DOUBLE_EQ(rates.of({.bytes = 8, .written = 0}), 5e9);
  EXPECT_DOUBLE_EQ(rates.of({.bytes = 8, .written = 4}), 10e9);
  EXPECT_DOUBLE_EQ(rates.of({.bytes = 8, .written = 8}), 2.5e9);
  EXPECT_DOUBLE_EQ(rates.of({.bytes = 8, .written = 99}), 2.5e9) << "no more than all of them";
  EXPECT_DOUBLE_EQ(rates.of({.bytes = 8, .written = 3, .in_place = true}), 20e9);
  // Half way: as long as half of the bytes in one way and half in the other.
  EXPECT_DOUBLE_EQ(1 / rates.of({.bytes = 8, .written = 2}), 0.5 / 5e9 + 0.5 / 10e9);
  // Ops one after the other take the sum of their times.
  Moved read{.bytes = 1e9}, fill{.bytes = 1e9, .written = 1e9};
  EXPECT_DOUBLE_EQ(kPeaks.bandwidth_share(std::array{read, fill}, 1, 1e9), 0.2 + 0.4);
}

TEST(MachinePeaks, AreMeasuredOnceAndRaisedByWhatIsFaster) {
  Context context{.device = "cpu"};
  context.threads.compute = 1;
  MachinePeaks first = machine_peaks(context);
  EXPECT_GT(first.flops, 1e8);
  for (double MemoryRates::*rate :
       {&MemoryRates::read, &MemoryRates::copy, &MemoryRates::fill, &MemoryRates::update}) {
    EXPECT_GT(first.memory.*rate, 1e8);
    EXPECT_GE(first.cache.*rate, first.memory.*rate);
  }
  EXPECT_EQ(first.link_bytes, 0) << "the device is the host";
  EXPECT_EQ(machine_peaks(context).flops, first.flops);
  raise_peak(context, first.flops / 2);
  EXPECT_EQ(machine_peaks(context).flops, first.flops);
  raise_peak(context, first.flops * 2);
  EXPECT_EQ(machine_peaks(context).flops, first.flops * 2);
}

}  // namespace
}  // namespace stoker
