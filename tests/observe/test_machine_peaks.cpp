// What the machine reaches at best, and shares of it.
#include <gtest/gtest.h>

#include "observe/machine_peaks.h"

namespace stoker {
namespace {

constexpr MachinePeaks kPeaks{
    .flops = 100e9, .bytes = 10e9, .cache_bytes = 80e9, .cache_size = 32e6};

TEST(MachinePeaks, NeverSayMoreThanAll) {
  EXPECT_DOUBLE_EQ(kPeaks.compute_share(50e9, 1), 0.5);
  EXPECT_DOUBLE_EQ(kPeaks.compute_share(138e9, 1), 1);
  EXPECT_DOUBLE_EQ(kPeaks.bandwidth_share(200e9, 1, 1e9), 1);
  EXPECT_DOUBLE_EQ(kPeaks.bandwidth_share(1, 0, 1e9), 0);
}

TEST(MachinePeaks, CountBytesThatStayInTheCacheAsTheCaches) {
  EXPECT_DOUBLE_EQ(kPeaks.bandwidth_share(8e9, 1, 1e9), 0.8);
  EXPECT_DOUBLE_EQ(kPeaks.bandwidth_share(8e9, 1, 1e6), 0.1);
  // More than the memory can: it was not the memory.
  EXPECT_DOUBLE_EQ(kPeaks.bandwidth_share(16e9, 1, 1e9), 0.2);
}

TEST(MachinePeaks, AreMeasuredOnceAndRaisedByWhatIsFaster) {
  Context context;
  context.threads.compute = 1;
  MachinePeaks first = machine_peaks(context);
  EXPECT_GT(first.flops, 1e8);
  EXPECT_GT(first.bytes, 1e8);
  EXPECT_GE(first.cache_bytes, first.bytes);
  EXPECT_EQ(machine_peaks(context).flops, first.flops);
  raise_peak(context, first.flops / 2);
  EXPECT_EQ(machine_peaks(context).flops, first.flops);
  raise_peak(context, first.flops * 2);
  EXPECT_EQ(machine_peaks(context).flops, first.flops * 2);
}

}  // namespace
}  // namespace stoker
