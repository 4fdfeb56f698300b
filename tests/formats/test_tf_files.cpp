// Files that TensorFlow wrote (tensorflow/record.py), read by Stoker, and written by it again;
// where TensorFlow is there, also files of this moment both ways.
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "support/peer_python.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

std::string recorded(const std::string& name) {
  return std::string(STOKER_TEST_SOURCE_DIR) + "/formats/tensorflow/" + name;
}

template <class T>
std::vector<T> feature_values(const Example& example, std::string_view name) {
  std::vector<T> out(example.find(name)->count);
  example.find(name)->read(std::span(out));
  return out;
}

void expect_the_records(const std::string& path) {
  auto file = local_files().open(path);
  TFRecordReader reader(*file);
  int64_t index = 0;
  for (Example example; auto record = reader.next(); ++index) {
    example.parse(record->bytes, path);
    ASSERT_EQ(example.features().size(), 4U);
    EXPECT_EQ(feature_values<int64_t>(example, "index"),
              (std::vector<int64_t>{index, -index, int64_t(1) << 40}));
    EXPECT_EQ(feature_values<float>(example, "floats"),
              (std::vector<float>{float(index) / 2, -1.5F}));
    EXPECT_EQ(feature_values<std::string_view>(example, "text"),
              (std::vector<std::string_view>{"record " + std::to_string(index),
                                             std::string_view("\0\xff", 2)}));
    EXPECT_EQ(example.find("none")->count, 0U);
  }
  EXPECT_EQ(index, 3) << path;
}

void write_the_records(const std::string& path) {
  auto file = local_files().create(path, FileSystem::Write::replace);
  TFRecordWriter writer(*file);
  for (int64_t index = 0; index < 3; ++index) {
    std::string text = "record " + std::to_string(index);
    ExampleWriter example;
    example.add("floats", std::vector<float>{float(index) / 2, -1.5F});
    example.add("index", std::vector<int64_t>{index, -index, int64_t(1) << 40});
    example.add("none", std::vector<int64_t>{});
    example.add("text", std::vector<std::string_view>{text, std::string_view("\0\xff", 2)});
    writer.write(as_bytes(example.record()));
  }
  writer.flush();
}

TEST(TFFiles, AreReadPlainAndCompressed) {
  for (const char* name : {"plain.tfrecord", "gzip.tfrecord", "zlib.tfrecord"})
    expect_the_records(recorded(name));
}

TEST(TFFiles, AreWrittenAgainByteForByte) {
  test::TempDir dir;
  write_the_records(dir / "a");
  EXPECT_EQ(read_text(dir / "a"), read_text(recorded("plain.tfrecord")));
}

TEST(TensorFlow, ReadsOursAndWritesWhatWeRead) {
  test::TempDir dir;
  write_the_records(dir / "ours.tfrecord");
  STOKER_EXPECT_PEER("formats/tensorflow/record.py", dir.path().string());
  for (const char* name : {"plain.theirs", "gzip.theirs", "zlib.theirs"})
    expect_the_records(dir / name);
}

}  // namespace
}  // namespace stoker
