#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/crc32c.h"
#include "formats/tfrecord.h"
#include "support/deflate.h"
#include "support/faulty_files.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::FaultyFiles;
using test::TempDir;
using Texts = std::vector<std::string>;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What the writer makes of the records.
std::string framed(const Texts& records) {
  TempDir dir;
  auto file = local_files().create(dir / "a", FileSystem::Write::replace);
  TFRecordWriter writer(*file);
  for (const std::string& record : records) writer.write(as_bytes(record));
  writer.flush();
  return read_text(dir / "a");
}

Texts records_of(FileReader& file, const TFRecordOptions& options = {}) {
  Texts texts;
  TFRecordReader reader(file, options);
  while (auto record = reader.next()) texts.push_back(text_of(record->bytes));
  return texts;
}

Texts records_of(const std::string& bytes, const TFRecordOptions& options = {}) {
  MemoryFile file("a.tfrecord", as_bytes(bytes));
  return records_of(file, options);
}

// What is wrong with the bytes, without the path before it.
std::string record_error(const std::string& bytes, const TFRecordOptions& options = {}) {
  try {
    records_of(bytes, options);
  } catch (const FileError& error) {
    std::string text = error.what();
    EXPECT_EQ(text.find("a.tfrecord: "), 0U) << text;
    return text.substr(12);
  }
  return "no error";
}

std::string little_endian(uint64_t value, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&value), bytes);
}

// A header with a right checksum, whatever the length.
std::string header(uint64_t length) {
  std::string bytes = little_endian(length, 8);
  return bytes + little_endian(mask_crc32c(crc32c(as_bytes(bytes))), 4);
}

const Texts kRecords = {"first", "", std::string("\0\xff\n", 3), std::string(1'000, 'x'), "last"};

TEST(TFRecord, WhatIsWrittenIsReadBack) { EXPECT_EQ(records_of(framed(kRecords)), kRecords); }

TEST(TFRecord, LaysBytesOutAsTensorFlowDoes) {
  // tf.io.TFRecordWriter(path).write(b"stoker"), TensorFlow 2.21.
  EXPECT_EQ(framed({"stoker"}), std::string("\x06\0\0\0\0\0\0\0", 8) +
                                    std::string("\x73\x69\xd5\x37", 4) + "stoker" +
                                    std::string("\xcc\x6d\x7f\xf2", 4));
}

TEST(TFRecord, MayHoldNothing) { EXPECT_EQ(records_of(std::string()), Texts()); }

TEST(TFRecord, IsReadCompressedAndRecognisedByItself) {
  EXPECT_EQ(records_of(test::gzip(framed(kRecords))), kRecords);
  EXPECT_EQ(records_of(test::zlib(framed(kRecords))), kRecords);
  std::string twice = test::gzip(framed({"a"})) + test::gzip(framed({"b"}));
  EXPECT_EQ(records_of(twice), (Texts{"a", "b"}));
}

TEST(TFRecord, WhoseLengthLooksLikeGzipIsStillPlain) {
  Texts records = {std::string(0x8b1f, 'x'), std::string(0x0178, 'y')};
  EXPECT_EQ(records_of(framed(records)), records);
  std::ranges::reverse(records);  // 78 01: as zlib begins
  EXPECT_EQ(records_of(framed(records)), records);
}

TEST(TFRecord, TellsOffsetsThatCanBeSoughtInAPlainFile) {
  std::string bytes = framed(kRecords);
  MemoryFile file("a", as_bytes(bytes));
  std::vector<uint64_t> offsets;
  TFRecordReader reader(file);
  while (auto record = reader.next()) offsets.push_back(record->offset);
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0, 21, 37, 56, 1'072}));
  for (size_t record : {3, 0, 4, 1}) {
    reader.seek(offsets[record]);
    EXPECT_EQ(text_of(reader.next()->bytes), kRecords[record]);
  }
  reader.seek(bytes.size());
  EXPECT_FALSE(reader.next());
  reader.seek(UINT64_MAX - 3);
  EXPECT_FALSE(reader.next());
}

TEST(TFRecord, CompressedCannotBeSoughtOrIndexed) {
  std::string bytes = test::gzip(framed(kRecords));
  MemoryFile file("a", as_bytes(bytes));
  TFRecordReader reader(file);
  EXPECT_FALSE(reader.can_seek());
  EXPECT_THROW(reader.seek(0), ValueError);
  EXPECT_THROW(index_tfrecord(file), ValueError);
}

TEST(TFRecord, IndexLeadsToEveryRecord) {
  std::string bytes = framed(kRecords);
  MemoryFile file("a", as_bytes(bytes));
  auto places = index_tfrecord(file);
  ASSERT_EQ(places.size(), kRecords.size());
  EXPECT_EQ(places[3], (TFRecordPlace{56, 1'000}));
  std::vector<std::byte> record;
  for (size_t number : {4, 3, 2, 1, 0}) {
    read_tfrecord(file, places[number], record);
    EXPECT_EQ(text_of(record), kRecords[number]);
  }
}

TEST(TFRecord, PlacesThatAreNotInTheFileAreRefused) {
  std::string bytes = framed({"abc"});
  MemoryFile file("a", as_bytes(bytes));
  std::vector<std::byte> record;
  for (TFRecordPlace place :
       {TFRecordPlace{0, 4}, TFRecordPlace{1, 3}, TFRecordPlace{0, UINT64_MAX},
        TFRecordPlace{UINT64_MAX - 5, 1}, TFRecordPlace{100, 0}})
    EXPECT_THROW(read_tfrecord(file, place, record), FileError) << place.offset;
}

TEST(TFRecord, LargerThanTheBufferIsReadWhole) {
  Texts records = {std::string(100'000, 'a'), "b", std::string(70'001, 'c')};
  for (size_t buffer : {0, 16, 1'000, 1 << 20}) {
    EXPECT_EQ(records_of(framed(records), {.buffer_bytes = buffer}), records);
    EXPECT_EQ(records_of(test::gzip(framed(records)), {.buffer_bytes = buffer}), records);
  }
}

TEST(TFRecord, WithHostileLengthsIsRefusedWithItsOffset) {
  std::string good = framed({"good"});
  EXPECT_EQ(record_error(good + header(uint64_t(1) << 63)),
            "the record at 20 claims 9223372036854775808 bytes, more than the 4294967296 that are "
            "allowed");
  TFRecordOptions unlimited{.most_record_bytes = UINT64_MAX};
  for (uint64_t length : {UINT64_MAX, UINT64_MAX - 11, UINT64_MAX - 15, uint64_t(1) << 40})
    EXPECT_EQ(record_error(good + header(length) + "abcde", unlimited),
              "the record at 20 claims " + std::to_string(length) +
                  " bytes and a checksum, but the file has 5 behind its header");
  EXPECT_EQ(record_error(header(5) + "abcde", {.most_record_bytes = 4}),
            "the record at 0 claims 5 bytes, more than the 4 that are allowed");
}

TEST(TFRecord, CompressedThatClaimsMuchTakesNoMemoryForIt) {
  // 100 KB of zeros, which compress to little, could be a gigabyte: the claim is possible, but
  // memory is taken only for what arrives.
  std::string bytes = test::gzip(header(90'000'000) + std::string(100'000'000 / 1'000, '\0'));
  EXPECT_NE(record_error(bytes).find("the record at 0 "), std::string::npos);
  std::string padded = bytes + std::string(100'000, '\0');  // so that the claim becomes possible
  EXPECT_NE(record_error(padded), "no error");
}

TEST(TFRecord, CutOffAnywhereIsAnErrorExceptBetweenRecords) {
  std::string whole = framed({"abc", "defg"});
  for (size_t length = 0; length < whole.size(); ++length) {
    std::string error = record_error(whole.substr(0, length));
    bool between = length == 0 || length == 19;
    EXPECT_EQ(error == "no error", between) << length << " " << error;
    EXPECT_EQ(error.find("the record at ") == 0, !between) << length << " " << error;
  }
  for (const std::string& packed : {test::gzip(whole), test::zlib(whole)})
    for (size_t length = 1; length < packed.size(); ++length)
      EXPECT_NE(record_error(packed.substr(0, length)), "no error") << length;
}

TEST(TFRecord, SeesEveryFlippedBit) {
  std::string whole = framed({"abc", "", "defg"});
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] ^= char(1 << bit % 8);
    EXPECT_NE(record_error(bytes), "no error") << bit;
  }
}

TEST(TFRecord, GoesOnBehindARecordWhoseBytesAreWrong) {
  std::string bytes = framed({"abc", "def", "ghi"});
  bytes[19 + 12] = 'X';
  MemoryFile file("a.tfrecord", as_bytes(bytes));
  TFRecordReader reader(file);
  EXPECT_EQ(text_of(reader.next()->bytes), "abc");
  EXPECT_THROW(reader.next(), FileError);
  EXPECT_TRUE(reader.can_go_on());
  EXPECT_EQ(text_of(reader.next()->bytes), "ghi");
  EXPECT_FALSE(reader.next());
}

TEST(TFRecord, CannotGoOnBehindALengthThatIsWrong) {
  std::string bytes = framed({"abc", "def"});
  bytes[19] = 'X';
  MemoryFile file("a.tfrecord", as_bytes(bytes));
  TFRecordReader reader(file);
  reader.next();
  EXPECT_THROW(reader.next(), FileError);
  EXPECT_FALSE(reader.can_go_on());
}

TEST(TFRecord, ReadsDamagedBytesWhenAskedNotToLook) {
  std::string bytes = framed({"abc", "def"});
  bytes[13] = 'X';
  EXPECT_EQ(record_error(bytes).find("the record at 0 has a wrong checksum of its 3 bytes"), 0U);
  EXPECT_EQ(records_of(bytes, {.check_data = false}), (Texts{"aXc", "def"}));
}

TEST(TFRecord, IsReadThroughShortReadsAndReportsFailingOnes) {
  TempDir dir;
  Texts records = {"one", std::string(100, 'y'), "three"};
  auto read = [](FaultyFiles& files, const std::string& path) {
    return records_of(*files.open(path), {.buffer_bytes = 32});
  };
  for (const std::string& path :
       {dir.write("a", framed(records)), dir.write("b", test::gzip(framed(records)))}) {
    FaultyFiles files;
    files.limit_reads(5);
    EXPECT_EQ(read(files, path), records);
    int operations = files.operations();
    EXPECT_GT(operations, 5);
    for (int step = 0; step < operations; ++step) {
      files.fail_once(step, EIO);
      EXPECT_THROW(read(files, path), FileError) << step;
    }
  }
}

TEST(TFRecord, IndexIsReadThroughShortReadsAndReportsFailingOnes) {
  TempDir dir;
  std::string path = dir.write("a", framed(kRecords));
  FaultyFiles files;
  files.limit_reads(5);
  EXPECT_EQ(index_tfrecord(*files.open(path)).size(), kRecords.size());
  int operations = files.operations();
  for (int step = 0; step < operations; ++step) {
    files.fail_once(step, EIO);
    EXPECT_THROW(index_tfrecord(*files.open(path)), FileError) << step;
  }
}

TEST(TFRecord, WriterReportsAFullDisk) {
  TempDir dir;
  FaultyFiles files;
  auto write = [&] {
    auto file = files.create(dir / "a", FileSystem::Write::replace);
    TFRecordWriter writer(*file);
    for (int record = 0; record < 3; ++record) writer.write(as_bytes(std::string(70'000, 'x')));
    writer.flush();
  };
  write();
  int operations = files.operations();
  EXPECT_EQ(operations, 5);  // create, three records, flush
  for (int step = 0; step < operations; ++step) {
    files.fail_from(step, ENOSPC);
    EXPECT_THROW(write(), FileError) << step;
  }
}

}  // namespace
}  // namespace stoker
