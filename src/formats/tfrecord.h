// TFRecord files: records one after the other, each its length (8 bytes, little endian), the masked
// CRC-32C of the length, its bytes and their masked CRC-32C. Plain, gzip or zlib.
// https://www.tensorflow.org/tutorials/load_data/tfrecord
//
// Files are not trusted: whatever they hold, reading ends in records or in a FileError that gives
// the record and its offset, and no more memory is taken than there are bytes to fill it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace stoker {

enum class TFRecordCompression : uint8_t { detect, none, gzip, zlib };

struct TFRecordOptions {
  bool check_data = true;  // the CRC of the bytes; that of the length is always checked
  TFRecordCompression compression = TFRecordCompression::detect;  // from the first bytes
  uint64_t most_record_bytes = uint64_t(1) << 32;                 // a longer record is an error
  size_t buffer_bytes = size_t(1) << 18;                          // read at a time
};

struct TFRecord {
  std::span<const std::byte> bytes = {};
  uint64_t offset = 0;  // of its header, in the bytes before compression
};

// Walks over the records of a file. One thread at a time.
class TFRecordReader {
 public:
  // The file must outlive it.
  explicit TFRecordReader(FileReader& file, const TFRecordOptions& options = {});
  ~TFRecordReader();

  // The next record, none at the end. Its bytes stay until the next call.
  std::optional<TFRecord> next();
  // After a FileError of next(): the length was right and the bytes were not, so that the record
  // behind is where it should be, and next() goes on with it.
  bool can_go_on() const { return framed_; }

  bool can_seek() const;
  // Goes on at the record that begins at `offset`; ValueError when the file is compressed.
  void seek(uint64_t offset);

 private:
  class Source;

  // Makes the next `count` bytes stand at data(); fewer only at the end.
  size_t fill(uint64_t count);
  const std::byte* data() const { return buffer_.data() + begin_; }

  FileReader& file_;
  TFRecordOptions options_;
  std::unique_ptr<Source> source_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0, end_ = 0;  // what is read and not yet given out
  uint64_t offset_ = 0;         // of data()
  bool framed_ = true;          // data() is where a record begins
};

// Where the records of a plain file are. Their lengths are checked, their bytes are not read.
// ValueError when the file is compressed: it has no places to go to.
struct TFRecordPlace {
  uint64_t offset = 0;  // of the header
  uint64_t bytes = 0;   // of the record alone
  friend bool operator==(const TFRecordPlace&, const TFRecordPlace&) = default;
};
std::vector<TFRecordPlace> index_tfrecord(FileReader& file, const TFRecordOptions& options = {});

// One record of a plain file into `out`, which becomes as long as it. From any thread.
void read_tfrecord(FileReader& file, const TFRecordPlace& place, std::vector<std::byte>& out,
                   const TFRecordOptions& options = {});

// Writes plain records, 64 KiB or one record at a time. Nothing is certain to be in the file before
// flush() has returned; the destructor does not flush.
class TFRecordWriter {
 public:
  // The file must outlive it.
  explicit TFRecordWriter(FileWriter& file) : file_(file) {}
  void write(std::span<const std::byte> record);
  void flush();

 private:
  FileWriter& file_;
  std::vector<std::byte> buffer_;
};

}  // namespace stoker
