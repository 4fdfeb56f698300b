#include <gtest/gtest.h>

#include <fstream>

#include "base/memory_info.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(LastCache, IsTheOneOfTheHighestLevel) {
  test::TempDir root;
  std::filesystem::path caches =
      std::filesystem::path(root.path()) / "sys/devices/system/cpu/cpu0/cache";
  write(caches / "index0/level", "1\n"), write(caches / "index0/size", "32K\n");
  write(caches / "index3/level", "3\n"), write(caches / "index3/size", "32768K\n");
  write(caches / "index2/level", "2\n"), write(caches / "index2/size", "1M\n");
  EXPECT_EQ(last_cache_bytes(root.path()), 32 << 20);
}

TEST(LastCache, IsNothingWhereTheMachineDoesNotTell) {
  test::TempDir root;
  EXPECT_EQ(last_cache_bytes(root.path()), 0);
}

}  // namespace
}  // namespace stoker
