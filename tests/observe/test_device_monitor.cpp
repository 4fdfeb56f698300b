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

TEST(DeviceMonitor, CallsAPowerLimitAFaultOnlyWhereSomebodyHasLoweredIt) {
  GpuState own{.power_limit_watts = 700}, lowered{.power_limit_watts = 400}, unknown;
  for (GpuState* state : {&own, &lowered, &unknown}) add_throttle_reasons(*state, 0x4, 700);
  EXPECT_TRUE(own.throttle_reasons.empty());
  EXPECT_TRUE(own.at_power_limit);
  for (const GpuState& state : {lowered, unknown}) {
    EXPECT_EQ(state.throttle_reasons, std::vector<std::string>{"its power limit"});
    EXPECT_FALSE(state.at_power_limit);
  }
  GpuState hot{.power_limit_watts = 700};
  add_throttle_reasons(hot, 0x24, 700);
  EXPECT_EQ(hot.throttle_reasons, std::vector<std::string>{"its temperature"});
  EXPECT_TRUE(hot.at_power_limit);
}

}  // namespace
}  // namespace stoker
