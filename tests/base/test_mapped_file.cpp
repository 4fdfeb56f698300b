#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "support/faulty_files.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytesAfterTheReaderIsGone) {
  test::TempDir dir;
  std::string content(10'000, 'x');
  content.back() = 'y';
  auto file = local_files().open(dir.write("a", content));
  auto mapped = file->map();
  file.reset();
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(text_of(*mapped), content);
}

TEST(MappedFile, StaysWhenTheFileIsRemoved) {
  test::TempDir dir;
  auto mapped = local_files().open(dir.write("a", "content"))->map();
  local_files().remove(dir / "a");
  EXPECT_EQ(text_of(*mapped), "content");
}

TEST(MappedFile, MayBeEmpty) {
  test::TempDir dir;
  auto mapped = local_files().open(dir.write("a", ""))->map();
  ASSERT_NE(mapped, nullptr);
  EXPECT_TRUE(mapped->bytes().empty());
}

TEST(MappedFile, IsNullWhereTheSystemRefuses) {
  test::TempDir dir;
  test::FaultyFiles files;
  files.fail_once(1, ENOMEM);
  auto file = files.open(dir.write("a", "content"));
  EXPECT_EQ(file->map(), nullptr);
  EXPECT_NE(file->map(), nullptr);
}

using MappedFileDeathTest = ::testing::Test;

TEST_F(MappedFileDeathTest, ThatIsCutOffNamesItsFileBeforeTheProcessEnds) {
  test::TempDir dir;
  std::string path = dir.write("a.shard", std::string(100'000, 'x'));
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, SIG_DFL);  // a sanitizer has one of its own
        auto other = local_files().open(dir.write("other", "content"))->map();
        auto mapped = local_files().open(path)->map();
        std::filesystem::resize_file(path, 0);
        [[maybe_unused]] volatile auto byte = mapped->bytes()[50'000];
      },
      ::testing::KilledBySignal(SIGBUS), "a.shard: it was cut off");
}

TEST_F(MappedFileDeathTest, RunsTheProgramsOwnHandlerAfterwards) {
  test::TempDir dir;
  std::string path = dir.write("a.shard", std::string(100'000, 'x'));
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, [](int) { ::_exit(7); });
        auto mapped = local_files().open(path)->map();
        std::filesystem::resize_file(path, 0);
        [[maybe_unused]] volatile auto byte = mapped->bytes()[50'000];
      },
      ::testing::ExitedWithCode(7), "a.shard: it was cut off");
}

TEST(MappedFile, LeavesSignalsAsTheyWereOnceItIsGone) {
  test::TempDir dir;
  struct sigaction before = {}, during = {}, after = {};
  sigaction(SIGBUS, nullptr, &before);
  auto first = local_files().open(dir.write("a", "content"))->map();
  auto second = local_files().open(dir.write("b", "content"))->map();
  first.reset();
  sigaction(SIGBUS, nullptr, &during);
  EXPECT_NE(during.sa_handler, before.sa_handler);
  second.reset();
  sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace stoker
