#include <cerrno>
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

}  // namespace
}  // namespace stoker
