// Files that are missing, cut, corrupt or hostile, and disks that fail or read slowly.
#include <gtest/gtest.h>
#include <stoker/image.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "data/sources/files.h"
#include "elements.h"
#include "formats/tfrecord.h"
#include "support/faulty_files.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

using test::FaultyFiles;
using test::TempDir;

std::vector<std::string> texts(const Dataset& dataset) {
  std::vector<std::string> all;
  for (const Batch& element : dataset) all.push_back(element[0].data<std::string>()[0]);
  return all;
}

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// --- image folders ---

std::string folder_of(const TempDir& dir) {
  for (const char* name : {"cat/a.jpg", "cat/b.JPG", "dog/c.png", "dog/notes.txt"})
    dir.write(std::string("photos/") + name, std::string("bytes of ") + name);
  return dir / "photos";
}

TEST(BadFiles, AnImageThatVanishedIsAnElementErrorWithItsPath) {
  TempDir dir;
  Dataset images = image_folder(folder_of(dir));
  EXPECT_EQ(images.cardinality().count, 3);
  std::filesystem::remove(dir / "photos/cat/b.JPG");
  std::string message = message_of([&] { all_of(images); });
  expect_says(message, "image_folder: element 1 of epoch 0 (" + (dir / "photos/cat/b.JPG") + ")");
  EXPECT_EQ(texts(images.on_error(OnError::skip)),
            (std::vector<std::string>{"bytes of cat/a.jpg", "bytes of dog/c.png"}));
  EXPECT_EQ(texts(images.on_error(OnError::replace)).size(), 3U);
}

TEST(BadFiles, FoldersWithoutImagesAreRefused) {
  TempDir dir;
  EXPECT_THROW(image_folder(dir / "nothing"), FileError);
  dir.write("flat/a.jpg", "x");
  EXPECT_THROW(image_folder(dir / "flat"), FileError);
  dir.write("texts/a/a.txt", "x");
  EXPECT_THROW(image_folder(dir / "texts"), FileError);
  EXPECT_THROW(files(dir / "*.none"), FileError);
}

TEST(BadFiles, ImagesThatAreNoneNameTheirFile) {
  TempDir dir;
  Dataset decoded = image_folder(folder_of(dir)).map(image::decode_jpeg(), {.name = "decode"});
  std::string message = message_of([&] { all_of(decoded); });
  expect_says(message, "element 0 of epoch 0 (" + (dir / "photos/cat/a.jpg") + ")");
  EXPECT_TRUE(all_of(decoded.on_error(OnError::skip)).empty());
}

TEST(BadFiles, ADiskThatFailsIsAnElementErrorAndOneThatReadsSlowlyIsNot) {
  TempDir dir;
  std::string path = folder_of(dir);
  FaultyFiles disk;
  Dataset images = image_folder(path, {}, disk);
  disk.limit_reads(1);
  EXPECT_EQ(texts(images)[2], "bytes of dog/c.png");
  for (int before = 0; before < 12; ++before) {
    disk.fail_once(before, EIO);
    std::string message = message_of([&] { all_of(images); });
    if (disk.operations() > before) expect_says(message, "failed as asked");
  }
  disk.fail_from(0, EIO);
  EXPECT_TRUE(all_of(images.on_error(OnError::skip)).empty());
  EXPECT_THROW(all_of(images.on_error(OnError::replace)), Error);
  EXPECT_THROW(image_folder(path, {}, disk), FileError);
}

// --- TFRecord ---

std::string records(const std::vector<std::string>& values) {
  TempDir dir;
  auto file = local_files().create(dir / "a", FileSystem::Write::replace);
  TFRecordWriter writer(*file);
  for (const std::string& value : values) writer.write(std::as_bytes(std::span(value)));
  writer.flush();
  return read_text(dir / "a");
}

TEST(BadFiles, ARecordFileThatIsCutGivesWhatIsWholeAndThenItsPath) {
  TempDir dir;
  const std::string whole = records({"one", "two", "three"});
  std::string first = dir.write("first", records({"zero"}));
  for (size_t length = 0; length < whole.size(); ++length) {
    std::string path = dir.write("cut", whole.substr(0, length));
    Dataset dataset = tfrecord({first, path});
    size_t frame = 16;  // header and check sums of a record
    size_t complete = length >= 2 * frame + 6 ? 2 : length >= frame + 3 ? 1 : 0;
    bool at_border = length == 0 || length == frame + 3 || length == 2 * frame + 6;
    std::vector<std::string> got = texts(dataset.on_error(OnError::skip));
    ASSERT_EQ(got.size(), 1 + complete) << length;
    std::string message = message_of([&] { all_of(dataset); });
    if (at_border)
      EXPECT_EQ(message, "no error") << length;
    else
      expect_says(message, path);
  }
}

TEST(BadFiles, ACorruptRecordIsNoticedWhereverItIs) {
  TempDir dir;
  const std::string whole = records({"one", "two"});
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x40);
    std::string path = dir.write("damaged", damaged), good = dir.write("good", records({"last"}));
    EXPECT_THROW(all_of(tfrecord({path})), ElementError) << at;
    std::vector<std::string> got = texts(tfrecord({path, good}).on_error(OnError::skip));
    EXPECT_EQ(got.back(), "last") << "the next file follows";
  }
}

TEST(BadFiles, RecordsBehindADamagedOneAreStillRead) {
  TempDir dir;
  std::string bytes = records({"one", "two", "three", "four"});
  bytes[16 + 3 + 12] ^= 1;  // the first byte of "two"
  std::string path = dir.write("damaged", bytes);
  EXPECT_EQ(texts(tfrecord({path}).on_error(OnError::skip)),
            (std::vector<std::string>{"one", "three", "four"}));
  expect_says(message_of([&] { all_of(tfrecord({path})); }), "element 1 of epoch 0");
  bytes[16 + 3] ^= 1;  // its length: nobody knows where "three" begins
  EXPECT_EQ(texts(tfrecord({dir.write("lost", bytes)}).on_error(OnError::skip)),
            std::vector<std::string>{"one"});
}

TEST(BadFiles, RecordFilesThatAreMissingOrHostileNameTheirPath) {
  TempDir dir;
  Dataset missing = tfrecord({dir / "missing"});
  expect_says(message_of([&] { all_of(missing); }), "tfrecord: element 0 of epoch 0");
  expect_says(message_of([&] { all_of(missing); }), dir / "missing");
  std::string hostile(64, '\xFF');
  EXPECT_THROW(all_of(tfrecord({dir.write("hostile", hostile)})), ElementError);
  EXPECT_THROW(tfrecord({}), ValueError);
}

TEST(BadFiles, RecordsSurviveADiskThatReadsSlowlyAndReportOneThatFails) {
  TempDir dir;
  std::string path = dir.write("a", records({"one", "two", "three"}));
  FaultyFiles disk;
  disk.limit_reads(1);
  Dataset dataset = tfrecord({path}, {}, disk);
  EXPECT_EQ(texts(dataset), (std::vector<std::string>{"one", "two", "three"}));
  for (int before = 0; before < 6; ++before) {
    disk.fail_from(before, EIO);
    expect_says(message_of([&] { all_of(dataset); }), "failed as asked");
  }
}

// --- IDX ---

std::string idx_bytes(std::initializer_list<uint32_t> dims, const std::string& values) {
  std::string bytes = {'\0', '\0', '\x08', char(dims.size())};
  for (uint32_t extent : dims)
    bytes += {char(extent >> 24), char(extent >> 16), char(extent >> 8), char(extent)};
  return bytes + values;
}

TEST(BadFiles, ArraysThatAreCutOrHostileAreRefusedWhenTheyAreOpened) {
  TempDir dir;
  const std::string whole = idx_bytes({2, 2}, "abcd");
  EXPECT_EQ(all_of(idx({dir.write("whole", whole)})).size(), 2U);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(idx({dir.write("cut", whole.substr(0, length))}), FileError) << length;
  for (const std::string& hostile :
       {idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x"), idx_bytes({0xFFFFFFFF}, "x"),
        std::string(100, '\xFF'), std::string("\x1f\x8b", 2) + std::string(50, '\xFF')})
    EXPECT_THROW(idx({dir.write("hostile", hostile)}), FileError);
  EXPECT_THROW(idx({dir / "missing"}), FileError);
  EXPECT_THROW(idx({dir.write("a", idx_bytes({2}, "ab")), dir.write("b", idx_bytes({3}, "abc"))}),
               ShapeError);
  FaultyFiles disk;
  for (int before = 0; before < 2; ++before) {
    disk.fail_from(before, EIO);
    EXPECT_THROW(idx({dir / "whole"}, disk), FileError);
  }
  disk.fail_from(std::numeric_limits<int>::max(), EIO);
  disk.limit_reads(1);
  EXPECT_EQ(all_of(idx({dir / "whole"}, disk)).size(), 2U);
}

// --- packed shards ---

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Integers values_or_error(const std::string& path) {
  try {
    return integers(load(path));
  } catch (const Error&) {
    return {-1};
  }
}

TEST(BadFiles, DamageOfShardsIsNoticedWhereverItIs) {
  TempDir dir;
  std::string path = dir / "shards";
  range(20).map([](int64_t x) { return 3 * x; }).save(path);
  const Integers whole = integers(load(path));
  for (const std::string& file : files_below(path)) {
    const std::string bytes = read_text(file);
    size_t step = std::max<size_t>(bytes.size() / 60, 1);
    for (size_t at = 0; at < bytes.size(); at += step) {
      std::string damaged = bytes;
      damaged[at] = char(damaged[at] ^ 0x10);
      dir.write(std::filesystem::relative(file, dir.path()).string(), damaged);
      Integers got = values_or_error(path);
      EXPECT_TRUE(got == whole || got == Integers{-1}) << file << " at " << at;
      dir.write(std::filesystem::relative(file, dir.path()).string(), bytes.substr(0, at));
      EXPECT_EQ(values_or_error(path), Integers{-1}) << file << " cut at " << at;
    }
    dir.write(std::filesystem::relative(file, dir.path()).string(), bytes);
  }
  EXPECT_EQ(integers(load(path)), whole);
}

TEST(BadFiles, TwoWalksOverOneFileCacheDoNotMixTheirElements) {
  TempDir dir;
  Dataset stream =
      range(50).filter([](int64_t x) { return x % 2 == 0; }).cache(dir / "cache").prefetch(0);
  Iterator first = stream.iterate(), second = stream.iterate();
  for (int i = 0; i < 10; ++i) first.next();
  for (int i = 0; i < 3; ++i) second.next();
  while (first.next() != nullptr) {
  }
  while (second.next() != nullptr) {
  }
  Integers even;
  for (int64_t i = 0; i < 50; i += 2) even.push_back(i);
  EXPECT_EQ(integers(stream), even);
  EXPECT_EQ(integers(load(dir / "cache")), even);
}

TEST(BadFiles, AStreamWithABadElementIsNotCachedAsIfItWereWhole) {
  TempDir dir;
  std::atomic<bool> bad = true;
  Dataset stream = range(6)
                       .map([&bad](int64_t x) {
                         if (bad && x == 3) throw std::runtime_error("three");
                         return x;
                       })
                       .filter([](int64_t) { return true; })
                       .cache(dir / "cache")
                       .on_error(OnError::skip);
  EXPECT_EQ(integers(stream), (Integers{0, 1, 2, 4, 5}));
  EXPECT_THROW(load(dir / "cache"), FileError);
  bad = false;
  EXPECT_EQ(integers(stream), (Integers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(integers(load(dir / "cache")).size(), 6U);
}

}  // namespace
}  // namespace stoker::data
