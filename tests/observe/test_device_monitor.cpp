#include <gtest/gtest.h>

#include "observe/device_monitor.h"

namespace stoker {
namespace {

TEST(DeviceMonitor, SeesGpusOrSaysWhyThereAreNone) {
  DeviceMonitor monitor;
  if (monitor.count() == 0 && monitor.driver_version().empty()) {
    EXPECT_NE(monitor.why_not(), "");
  }
  for (int gpu = 0; gpu < monitor.count(); ++gpu) EXPECT_NE(monitor.state(gpu).name, "");
}

TEST(DeviceMonitor, KnowsNothingOfAGpuThatIsNotThere) {
  DeviceMonitor monitor;
  GpuState state = monitor.state(monitor.count());
  EXPECT_EQ(state.name, "");
  EXPECT_EQ(state.memory_bytes, -1);
}

}  // namespace
}  // namespace stoker
