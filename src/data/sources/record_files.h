// Files that hold records one after the other: lines of text, records of CSV, TFRecords. What is
// particular to a format stands in its RecordFormat; reading in order, random access through an index,
// resume, damage and addresses of errors are the same for all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/dataset.h>

#include "base/file.h"
#include "formats/record_index.h"

namespace stoker::data {

// Walks over the records of one file.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // The next record, none at the end. Valid until the next call.
  virtual std::optional<std::string_view> next() = 0;
  // Where that record begins, or where reading failed, from 1; 0: the format has no lines.
  virtual uint64_t line() const { return 0; }
  // After an error of next(): the record behind it can be read.
  virtual bool can_go_on() const { return false; }
};

struct RecordFormat {
  std::string kind;          // "text_lines"
  std::string details = {};  // of its options, for people and states
  bool lines = true;         // of random access: a record has a line
  std::function<std::unique_ptr<RecordReader>(FileReader& file)> read;
  // What is looked at in a record when it becomes an element, and possibly repaired; none: nothing.
  std::function<void(std::string& record)> check = {};
  // Both or none. None: a stream.
  std::function<RecordIndex(FileReader& file)> index = {};
  std::function<void(std::string_view block, std::vector<std::string_view>& records)> cut = {};
};

// The records of the files in order, as bytes[]. Random access where the format has an index and no
// file is gzip.
Dataset record_files(std::vector<std::string> paths, RecordFormat format, FileSystem& files);

}  // namespace stoker::data
