// TFRecord files that a program writes, read back through a pipeline.
#include <filesystem>

#include <gtest/gtest.h>
#include <stoker/dataset.h>
#include <stoker/tfrecord.h>

#include "base/file.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

using test::TempDir;

Tensor text_of(const std::string& text) { return Tensor::from<std::string>({text}, {}); }

TEST(TfRecordWriter, WritesExamplesThatAPipelineReads) {
  TempDir dir;
  TfRecordWriter writer(dir / "a.tfrecord");
  for (int index = 0; index < 3; ++index)
    writer.write(serialize_example({{"image", text_of(std::string("\0\xff", 2))},
                                    {"label", Tensor::from<int32_t>({index}, {})},
                                    {"box", Tensor::from<float>({0.5F, float(index)}, {1, 2})},
                                    {"flags", Tensor::from<bool>(std::vector{true, false}, {2})},
                                    {"none", Tensor::zeros({0})}}));
  writer.close();

  int64_t seen = 0;
  for (const Batch& element : tfrecord({dir / "a.tfrecord"})
                                  .map(parse_example({{"image", {DType::bytes, {}}},
                                                      {"label", {DType::int64, {}}},
                                                      {"box", {DType::float32, {2}}},
                                                      {"flags", {DType::int64, {-1}}},
                                                      {"none", {DType::float32, {-1}}}}))) {
    EXPECT_EQ(element[0].values<std::string>()[0], std::string("\0\xff", 2));
    EXPECT_EQ(element[1].item(), double(seen));
    EXPECT_EQ(element[2].at(1), double(seen));
    EXPECT_EQ(element[3].to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
    EXPECT_EQ(element[4].elements(), 0);
    ++seen;
  }
  EXPECT_EQ(seen, 3);
}

TEST(TfRecordWriter, ClosesByItselfButNotInAnException) {
  TempDir dir;
  { TfRecordWriter(dir / "closed").write("record"); }
  EXPECT_TRUE(std::filesystem::exists(dir / "closed"));
  try {
    TfRecordWriter writer(dir / "failed");
    writer.write("record");
    throw ValueError("the program's own");
  } catch (const ValueError&) {
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    files += entry.path().filename() == "closed" ? 1 : 100;
  EXPECT_EQ(files, 1U);
}

TEST(TfRecordWriter, LeavesTheOldFileUntilItIsClosed) {
  TempDir dir;
  { TfRecordWriter(dir / "a").write("old"); }
  std::string old = read_text(dir / "a");
  TfRecordWriter writer(dir / "a");
  writer.write(std::string(1 << 20, 'x'));
  EXPECT_EQ(read_text(dir / "a"), old);
  writer.close();
  EXPECT_NE(read_text(dir / "a"), old);
  writer.close();
  EXPECT_THROW(writer.write("more"), Error);
}

TEST(TfRecordWriter, SaysWhatIsWrong) {
  TempDir dir;
  EXPECT_THROW(TfRecordWriter(dir / "missing/a"), FileError);
  EXPECT_THROW(TfRecordWriter(dir.path().string()), FileError);
  EXPECT_THROW(serialize_example({{"a", Tensor(1.0F)}, {"a", Tensor(2.0F)}}), ValueError);
  EXPECT_THROW(serialize_example({{"a", Tensor()}}), ValueError);
}

}  // namespace
}  // namespace stoker::data
