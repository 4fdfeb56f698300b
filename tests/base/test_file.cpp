#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <stoker/error.h>

#include "base/file.h"
#include "support/faulty_files.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::FaultyFiles;
using test::TempDir;

// The text of the FileError that `attempt` throws.
template <class Attempt>
std::string file_error(Attempt attempt) {
  try {
    attempt();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no FileError";
}

TEST(Files, WhatIsWrittenIsReadBack) {
  TempDir dir;
  std::string content("line\n\0\xff", 7);
  write_file_atomically(dir / "a", content);
  EXPECT_EQ(read_text(dir / "a"), content);
  EXPECT_EQ(read_file(dir / "a").size(), 7U);
  EXPECT_EQ(local_files().size(dir / "a"), 7U);
}

TEST(Files, PiecesLandOneAfterTheOther) {
  TempDir dir;
  std::span<const std::byte> pieces[] = {as_bytes("one "), as_bytes(""), as_bytes("two")};
  write_file_atomically(dir / "a", pieces);
  EXPECT_EQ(read_text(dir / "a"), "one two");
}

TEST(Files, AppendingKeepsWhatWasThere) {
  TempDir dir;
  for (const char* line : {"one\n", "two\n"})
    local_files().create(dir / "log", FileSystem::Write::append)->write(as_bytes(line));
  EXPECT_EQ(read_text(dir / "log"), "one\ntwo\n");
}

TEST(Files, ErrorsBeginWithThePathAndSayWhy) {
  TempDir dir;
  EXPECT_EQ(file_error([&] { read_text(dir / "absent"); }),
            dir / "absent" + ": opening failed: No such file or directory");
  EXPECT_EQ(file_error([&] { read_text(dir / ""); }),
            dir / "" + ": opening failed: Is a directory");
  EXPECT_EQ(file_error([&] { write_file_atomically(dir / "no/such/place", ""); }).find(dir / "no"),
            0U);
  EXPECT_EQ(file_error([&] { local_files().list(dir / "absent"); }),
            dir / "absent" + ": listing failed: No such file or directory");
  EXPECT_EQ(file_error([&] { local_files().remove(dir / "absent"); }),
            dir / "absent" + ": removing failed: No such file or directory");
}

TEST(Files, ReadingPastTheEndSaysWhereTheFileEnded) {
  TempDir dir;
  auto file = local_files().open(dir.write("a", "0123456789"));
  std::byte out[4];
  EXPECT_EQ(file->read_at(8, out), 2U);
  EXPECT_EQ(file->read_at(10, out), 0U);
  EXPECT_EQ(file->read_at(UINT64_MAX, out), 0U);
  EXPECT_EQ(file_error([&] { file->read_exactly(8, out); }),
            dir / "a" + ": ends after 10 bytes; 4 bytes at 8 were expected");
}

TEST(Files, AreWalkedFromTheBeginningWhileOthersReadAnywhere) {
  TempDir dir;
  auto file = local_files().open(dir.write("a", "abcdef"));
  char out[4];
  auto bytes = std::as_writable_bytes(std::span(out));
  EXPECT_EQ(file->read(bytes), 4U);
  EXPECT_EQ(file->read_at(0, bytes), 4U);
  EXPECT_EQ(file->read(bytes), 2U);
  EXPECT_EQ(std::string_view(out, 2), "ef");
  EXPECT_EQ(file->read(bytes), 0U);
}

TEST(Files, AreListedByNameWithTheirFolders) {
  TempDir dir;
  dir.write("b", "");
  dir.write("c/inside", "");
  dir.write("a", "");
  std::filesystem::create_symlink("nowhere", dir / "broken");
  std::filesystem::create_directory_symlink("c", dir / "link");
  std::vector<DirectoryEntry> expected = {
      {"a", false}, {"b", false}, {"broken", false}, {"c", true}, {"link", true}};
  EXPECT_EQ(local_files().list(dir / ""), expected);
}

TEST(Files, AreRemovedWithoutFollowingLinks) {
  TempDir dir;
  dir.write("kept/file", "x");
  dir.write("gone/file", "x");
  std::filesystem::create_directory_symlink(dir / "kept", dir / "gone/link");
  EXPECT_THROW(local_files().remove(dir / "gone"), FileError);
  local_files().remove_all(dir / "gone");
  EXPECT_FALSE(local_files().exists(dir / "gone"));
  EXPECT_TRUE(local_files().exists(dir / "kept/file"));
  EXPECT_FALSE(local_files().exists(dir / "kept/file/below"));
}

TEST(AtomicWrite, NamesAFolderThatIsMissing) {
  TempDir dir;
  std::string said;
  try {
    write_file_atomically(dir / "missing/a", "text");
  } catch (const FileError& error) {
    said = error.what();
  }
  EXPECT_EQ(said, (dir / "missing/a") + ": the folder " + (dir / "missing") +
                      " does not exist; create it first");
}

TEST(AtomicWrite, LeavesNoTemporaryFile) {
  TempDir dir;
  write_file_atomically(dir / "a", "new");
  EXPECT_EQ(local_files().list(dir / "").size(), 1U);
}

TEST(AtomicWrite, ThatFailsAnywhereKeepsTheOldFileAndLeavesNothingBehind) {
  TempDir dir;
  FaultyFiles files;
  write_file_atomically(dir / "a", "old", files);
  int operations = files.operations();
  ASSERT_EQ(operations, 5);  // create, write, sync, rename, sync the directory
  for (int step = 0; step < operations; ++step) {
    dir.write("a", "old");
    files.fail_once(step, ENOSPC);
    std::string error = file_error([&] { write_file_atomically(dir / "a", "new", files); });
    EXPECT_EQ(error.find(dir.path().string()), 0U) << error;
    EXPECT_NE(error.find("No space left on device"), std::string::npos) << error;
    bool renamed = step == operations - 1;
    EXPECT_EQ(read_text(dir / "a"), renamed ? "new" : "old") << "step " << step;
    EXPECT_EQ(local_files().list(dir / "").size(), 1U) << "step " << step;
  }
}

TEST(AtomicWrite, ThatIsCutOffAnywhereLeavesTheOldBytesOrTheNew) {
  for (int step = 0; step < 5; ++step) {
    TempDir dir;
    dir.write("a", "old");
    FaultyFiles files;
    files.fail_from(step, EIO);
    EXPECT_THROW(write_file_atomically(dir / "a", "new", files), FileError);
    EXPECT_EQ(read_text(dir / "a"), step < 4 ? "old" : "new");
    for (const DirectoryEntry& entry : local_files().list(dir / ""))
      EXPECT_TRUE(entry.name == "a" || entry.name.ends_with(kTemporarySuffix)) << entry.name;
  }
}

TEST(AtomicWrite, GoesThroughLinksToTheFileBehindThem) {
  TempDir dir;
  dir.write("data/target", "old");
  std::filesystem::create_symlink("data/target", dir / "link");
  std::filesystem::create_symlink("link", dir / "chain");
  write_file_atomically(dir / "chain", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "chain"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_text(dir / "data/target"), "new");
  EXPECT_EQ(local_files().list(dir / "data").size(), 1U);
}

TEST(AtomicWrite, MakesTheFileThatADanglingLinkNames) {
  TempDir dir;
  std::filesystem::create_symlink("later", dir / "link");
  write_file_atomically(dir / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_text(dir / "later"), "new");
}

TEST(AtomicWrite, RefusesLinksInACircleAndDirectories) {
  TempDir dir;
  std::filesystem::create_symlink("b", dir / "a");
  std::filesystem::create_symlink("a", dir / "b");
  EXPECT_EQ(file_error([&] { write_file_atomically(dir / "a", ""); }),
            dir / "a" + ": following its links failed: Too many levels of symbolic links");
  std::filesystem::create_directory(dir / "folder");
  EXPECT_EQ(file_error([&] { write_file_atomically(dir / "folder", ""); }),
            dir / "folder" + ": writing failed: Is a directory");
}

TEST(AtomicWrite, WritesIntoAFifoAndLeavesItOne) {
  TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::ifstream file(dir / "fifo");
    std::getline(file, got);
  });
  write_file_atomically(dir / "fifo", "through\n");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(dir / "fifo"));
}

TEST(AtomicWrite, WritesIntoDevicesAndOpenFiles) {
  write_file_atomically("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(file_error([] { write_file_atomically("/dev/full", "x"); }),
            "/dev/full: writing failed: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  TempDir dir;
  int file = ::open(dir.write("a", "one ").c_str(), O_WRONLY | O_APPEND);
  write_file_atomically("/dev/fd/" + std::to_string(file), "two");
  ::close(file);
  EXPECT_EQ(read_text(dir / "a"), "one two");
}

TEST(AtomicWrite, KeepsThePermissionsOfWhatItReplaces) {
  using std::filesystem::perms;
  TempDir dir;
  std::filesystem::permissions(dir.write("a", "old"), perms::owner_read | perms::owner_write);
  write_file_atomically(dir / "a", "new");
  EXPECT_EQ(std::filesystem::status(dir / "a").permissions(),
            perms::owner_read | perms::owner_write);
}

TEST(AtomicWrite, RefusesAReadOnlyFile) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write any file";
  TempDir dir;
  std::filesystem::permissions(dir.write("a", "old"), std::filesystem::perms::owner_read);
  EXPECT_EQ(file_error([&] { write_file_atomically(dir / "a", "new"); }),
            dir / "a" + ": writing failed: Permission denied");
  EXPECT_EQ(read_text(dir / "a"), "old");
}

TEST(Files, ThatAreNoRegularFilesAreRefusedAtOnce) {
  TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(file_error([&] { read_text(dir / "fifo"); }),
            dir / "fifo" + ": it is a FIFO, expected a regular file; copy its bytes into one");
  EXPECT_EQ(file_error([&] { read_text("/dev/zero"); }),
            "/dev/zero: it is a device, expected a regular file; copy its bytes into one");
}

TEST(Files, SayWhetherTheDiskIsFull) {
  EXPECT_TRUE(is_disk_full(file_error([] { write_file_atomically("/dev/full", "x"); })));
  EXPECT_FALSE(is_disk_full(file_error([] { read_text("/nowhere"); })));
}

TEST(Files, ShortReadsAreCompleted) {
  TempDir dir;
  FaultyFiles files;
  files.limit_reads(3);
  std::string content = "a text that takes several short reads";
  EXPECT_EQ(read_text(dir.write("a", content), files), content);
}

TEST(Files, AFailingReadIsReportedNotSkipped) {
  TempDir dir;
  std::string path = dir.write("a", std::string(100, 'x'));
  FaultyFiles files;
  files.limit_reads(10);
  files.fail_once(5, EIO);
  std::string error = file_error([&] { read_text(path, files); });
  EXPECT_EQ(error, path + ": failed as asked: Input/output error");
}

}  // namespace
}  // namespace stoker
