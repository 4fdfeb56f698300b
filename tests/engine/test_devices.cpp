#include <stoker/devices.h>

#include <gtest/gtest.h>
#include <stoker/context.h>
#include <stoker/error.h>

#include "engine/cuda/region.h"
#include "engine/registry.h"

namespace stoker {

namespace {

TEST(Devices, ListsTheCpuFirstAndEveryGpuByTheNameAContextTakes) {
  std::vector<DeviceDescription> devices = list_devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_GT(devices[0].memory, 0U);
  EXPECT_EQ(devices.size() > 1, is_usable("cuda"));
  for (size_t i = 1; i < devices.size(); ++i)
    EXPECT_EQ(devices[i].name, "cuda:" + std::to_string(i - 1));
}

TEST(Devices, NamesAGpuThatDoesNotExist) {
  try {
    set_visible_devices({"cpu", "cuda:99"});
    ADD_FAILURE() << "chosen";
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("\"cuda:99\""), std::string::npos) << error.what();
  } catch (const Error& error) {  // where tests before this one have used the GPU
    EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos) << error.what();
  }
}

TEST(Devices, MemorySettingsAreTheDefaultContextsUntilAGpuIsInUse) {
  if (is_usable("cuda")) GTEST_SKIP() << "a GPU may be in use";
  set_memory_growth(false);
  set_memory_limit(1 << 20);
  EXPECT_FALSE(default_context().memory_growth);
  EXPECT_EQ(default_context().memory_limit, size_t(1) << 20);
  set_memory_growth(true);
  set_memory_limit(0);
}

TEST(Region, JoinsNeighboursThatAreFreeAgain) {
  cuda::Region region(100);
  auto first = region.take(40), second = region.take(40), third = region.take(20);
  ASSERT_TRUE(first && second && third);
  EXPECT_FALSE(region.take(1));
  region.give_back(*first, 40);
  region.give_back(*third, 20);
  EXPECT_EQ(region.largest(), 40U);
  region.give_back(*second, 40);
  EXPECT_EQ(region.largest(), 100U);
  EXPECT_EQ(region.take(100), 0U);
}

}  // namespace

}  // namespace stoker
