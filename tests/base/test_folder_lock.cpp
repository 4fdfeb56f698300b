#include "base/folder_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/code_identity.h"
#include "base/file.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

TEST(FolderLock, IsForOneAtATimeAndSaysWhoHasIt) {
  test::TempDir dir;
  std::string holder;
  auto first = FolderLock::try_lock(dir / "run", holder);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->unsupported(), "");
  EXPECT_EQ(FolderLock::try_lock(dir / "run", holder), nullptr);
  EXPECT_NE(holder.find("process " + std::to_string(getpid()) + " on "), std::string::npos);
  EXPECT_THROW(lock_or_refuse(dir / "run", "wait", local_files()), FolderInUse);
  first.reset();
  EXPECT_NE(FolderLock::try_lock(dir / "run", holder), nullptr);
}

TEST(FolderLock, LeavesNothingBehind) {
  test::TempDir dir;
  std::string holder;
  FolderLock::try_lock(dir / "made", holder).reset();
  EXPECT_FALSE(std::filesystem::exists(dir / "made"));
  dir.write("run/file", "text");
  FolderLock::try_lock(dir / "run", holder).reset();
  EXPECT_EQ(local_files().list(dir / "run").size(), 1U);
}

TEST(FolderLock, EndsWithAProcessThatIsKilled) {
  test::TempDir dir;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    std::string holder;
    auto lock = FolderLock::try_lock(dir / "run", holder);
    char byte = 1;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  std::string holder;
  EXPECT_EQ(FolderLock::try_lock(dir / "run", holder), nullptr);
  EXPECT_NE(holder.find("process " + std::to_string(child)), std::string::npos) << holder;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NE(FolderLock::try_lock(dir / "run", holder), nullptr);
  close(ready[0]);
  close(ready[1]);
}

TEST(FolderLock, OfAParentIsNotAChilds) {
  test::TempDir dir;
  std::string holder;
  auto lock = FolderLock::try_lock(dir / "run", holder);
  pid_t child = fork();
  if (child == 0) {
    bool own = lock->is_own();
    lock.reset();  // the parent keeps it
    _exit(own ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(FolderLock::try_lock(dir / "run", holder), nullptr);
}

TEST(FolderLock, ThatCannotBeMadeIsAnError) {
  std::string holder;
  EXPECT_THROW(FolderLock::try_lock("/proc/stoker", holder), FileError);
}

TEST(CodeIdentity, IsThatOfTheModule) {
  std::string own = code_identity(&typeid(FolderLock));
  EXPECT_NE(own, "");
  EXPECT_EQ(code_identity(&typeid(FolderLock)), own);
  int on_stack = 0;
  EXPECT_EQ(code_identity(&on_stack), "");
}

}  // namespace
}  // namespace stoker
