// Shards that are damaged, cut off or mixed up, and disks that fail.
#include <atomic>
#include <cerrno>
#include <map>

#include <stoker/random.h>

#include "formats/shard_elements.h"
#include "formats/shard_manifest.h"
#include "support/faulty_files.h"
#include "support/memory_files.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using namespace test;

TEST(Shards, ErrorsSayWhichRecordAndWhere) {
  TempDir dir;
  write_elements(dir / "a", 3);
  std::string path = dir / "a/data-0000-00000.shard", bytes = read_text(path);
  bytes[64 + 8 * 2] ^= 1;
  dir.write("a/data-0000-00000.shard", bytes);
  ShardReader reader(dir / "a");
  try {
    reader.read(0);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what())
                  .find(path + ": record 0 at 64 (element 0) is damaged: its "
                               "checksum is wrong: expected "),
              0U)
        << error.what();
  }
  EXPECT_THROW(reader.read(0), FileError);  // also the second time
  EXPECT_EQ(tensors_of(reader.read(1)), element(1));
}

// Every way to read, on files that tests damage.
const std::vector<ShardReadOptions> kWays = {{}, {.map = false}};

// The files of a written dataset, in memory, where they can be damaged in many ways in little time.
std::map<std::string, std::string> files_of(const std::string& path, int64_t count) {
  write_elements(path, count);
  std::map<std::string, std::string> contents;
  for (const std::string& name : names_in(path))
    contents[path + "/" + name] = read_text(path + "/" + name);
  return contents;
}

MemoryFiles in_memory(const std::map<std::string, std::string>& contents) {
  MemoryFiles files;
  for (const auto& [path, content] : contents) files.put(path, content);
  return files;
}

TEST(Shards, CutOffAnywhereAreRefused) {
  TempDir dir;
  auto contents = files_of(dir / "a", 3);
  ASSERT_EQ(contents.size(), 2U);
  MemoryFiles files = in_memory(contents);
  for (const auto& [path, whole] : contents) {
    for (size_t length = 0; length < whole.size(); ++length) {
      files.put(path, whole.substr(0, length));
      for (const ShardReadOptions& way : kWays)
        EXPECT_NE(read_error(dir / "a", way, files), "no error") << path << " " << length;
    }
    files.put(path, whole + '\0');
    EXPECT_NE(read_error(dir / "a", {}, files), "no error") << path;
    files.put(path, whole);
    EXPECT_EQ(read_error(dir / "a", {}, files), "no error") << path;
  }
}

TEST(Shards, SeeEveryFlippedBit) {
  TempDir dir;
  auto contents = files_of(dir / "a", 3);
  MemoryFiles files = in_memory(contents);
  for (const auto& [path, whole] : contents) {
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] ^= char(1 << bit % 8);
      files.put(path, bytes);
      EXPECT_NE(read_error(dir / "a", kWays[bit % 2], files), "no error") << path << " " << bit;
    }
    files.put(path, whole);
  }
}

TEST(Shards, MixedWithThoseOfAnotherDatasetAreRefused) {
  TempDir dir;
  write_elements(dir / "a", 6, {.shard_bytes = 1});
  ShardWriter other(dir / "b", kSpec, {.shard_bytes = 1});
  for (int64_t index = 5; index >= 0; --index) write(other, index, element(index));
  other.finish();
  std::string shard = read_text(dir / "b/data-0000-00002.shard");
  dir.write("a/data-0000-00002.shard", read_text(dir / "a/data-0000-00001.shard"));
  EXPECT_NE(read_error(dir / "a"), "no error");
  dir.write("a/data-0000-00002.shard", shard);
  EXPECT_NE(read_error(dir / "a"), "no error");
  local_files().remove(dir / "a/data-0000-00002.shard");
  EXPECT_NE(read_error(dir / "a").find("data-0000-00002.shard: opening failed"), std::string::npos);
}

TEST(Shards, AreReadThroughShortReadsAndReportFailingOnes) {
  TempDir dir;
  write_elements(dir / "a", 4, {.shard_bytes = 500});
  FaultyFiles files;
  files.limit_reads(40);
  files.refuse_maps();
  EXPECT_EQ(read_all(dir / "a", {}, files), elements(4));
  int operations = files.operations();
  EXPECT_GT(operations, 20);
  int refused = 0;
  for (int step = 0; step < operations; ++step) {
    files.fail_once(step, EIO);
    // A map() that fails is no error: the file is read instead.
    if (read_error(dir / "a", {}, files) != "no error") ++refused;
  }
  EXPECT_EQ(refused, operations - int(names_in(dir / "a").size() - 1));
}

// After any failure the directory holds the old dataset or the new one, or none that could be
// mistaken for one.
TEST(Shards, SurviveAFullDiskAtEveryMoment) {
  for (bool had_one : {false, true}) {
    FaultyFiles files;
    {
      TempDir dir;
      if (had_one) write_elements(dir / "a", 3);
      files.fail_once(1'000'000, ENOSPC);
      write_elements(dir / "a", 6, {.shard_bytes = 800}, files);
    }
    int operations = files.operations(), failures = 0;
    EXPECT_GT(operations, 15);
    for (int step = 0; step < operations; ++step)
      for (bool for_ever : {false, true}) {
        TempDir dir;
        if (had_one) write_elements(dir / "a", 3);
        for_ever ? files.fail_from(step, ENOSPC) : files.fail_once(step, ENOSPC);
        bool failed = false;
        try {
          write_elements(dir / "a", 6, {.shard_bytes = 800}, files);
        } catch (const FileError&) {
          failed = true;
          ++failures;
        }
        std::vector<Element> found;
        if (shards_exist(dir / "a")) found = read_all(dir / "a");
        size_t old_size = had_one ? 3 : 0;
        EXPECT_TRUE(found == elements(6) || (failed && found == elements(int64_t(old_size))))
            << step << " " << found.size();
        EXPECT_EQ(shards_exist(dir / "a"), had_one || !found.empty());
        // And the next writer cleans up.
        write_elements(dir / "a", 2);
        EXPECT_EQ(names_in(dir / "a").size(), 2U) << step;
        EXPECT_EQ(read_all(dir / "a"), elements(2));
      }
    EXPECT_GT(failures, operations);
  }
}

TEST(Shards, AWriterThatFailedStaysFailed) {
  TempDir dir;
  FaultyFiles files;
  ShardWriter writer(dir / "a", kSpec, {.shard_bytes = 1}, files);
  files.fail_once(0, ENOSPC);
  EXPECT_THROW(write(writer, 0, element(0)), FileError);
  EXPECT_THROW(write(writer, 1, element(1)), Error);
  EXPECT_THROW(writer.finish(), Error);
}

}  // namespace
}  // namespace stoker
