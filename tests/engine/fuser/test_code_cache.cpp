// Compiled code kept on disk.
#include "engine/cuda/fuser/code_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "support/temp_dir.h"

namespace stoker::test {

namespace {

using fuser::CodeCache;
namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(CodeCache, GivesBackWhatAnotherProcessKept) {
  TempDir folder;
  std::string code("\0\1code", 6);
  CodeCache({.folder = folder.path().string()}).add("key", code);
  EXPECT_EQ(CodeCache({.folder = folder.path().string()}).find("key"), code);
  EXPECT_EQ(CodeCache({.folder = folder.path().string()}).find("another"), std::nullopt);
}

TEST(CodeCache, IgnoresADamagedFileAndReplacesIt) {
  TempDir folder;
  CodeCache cache({.folder = folder.path().string()});
  cache.add("key", "code");
  fs::path file = files_in(folder.path()).at(0);
  std::string whole = read_text(file.string());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    std::ofstream(file) << damaged;
    EXPECT_EQ(cache.find("key"), std::nullopt) << "byte " << at;
    std::ofstream(file) << whole.substr(0, at);
    EXPECT_EQ(cache.find("key"), std::nullopt) << "cut at " << at;
  }
  cache.add("key", "code");
  EXPECT_EQ(cache.find("key"), "code");
}

TEST(CodeCache, StaysBelowItsSize) {
  TempDir folder;
  CodeCache cache({.folder = folder.path().string(), .most_bytes = 4000});
  for (int i = 0; i < 50; ++i) cache.add(std::to_string(i), std::string(500, 'x'));
  uintmax_t total = 0;
  for (const fs::path& file : files_in(folder.path())) total += fs::file_size(file);
  EXPECT_LE(total, 4000U + 4000 / 8 + 600);
  EXPECT_EQ(cache.find("49"), std::string(500, 'x'));
}

TEST(CodeCache, KeepsNothingWithoutAFolder) {
  CodeCache cache({.folder = ""});
  cache.add("key", "code");
  EXPECT_EQ(cache.find("key"), std::nullopt);
}

TEST(CodeCache, GoesOnWhereNothingCanBeWritten) {
  TempDir folder;
  std::string file = folder / "file";
  std::ofstream(file) << "no folder";
  CodeCache cache({.folder = file + "/kernels"});
  cache.add("key", "code");
  EXPECT_EQ(cache.find("key"), std::nullopt);
}

}  // namespace

}  // namespace stoker::test
