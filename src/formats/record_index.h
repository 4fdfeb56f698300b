// Where the records of a plain file are: one entry per block of whole records. A block has
// block_bytes or one long record; reading one gives its neighbours as well.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"

namespace stoker {

struct RecordBlock {
  uint64_t record = 0, offset = 0;  // of its first record; records count from 0
  friend bool operator==(const RecordBlock&, const RecordBlock&) = default;
};

class RecordIndex {
 public:
  explicit RecordIndex(uint64_t block_bytes) : block_bytes_(block_bytes) {}

  // Filling it: every place where a record begins, in order, and its line, counted from 0; then the
  // end of the file. Lines are kept once they differ from the records.
  void add(uint64_t record, uint64_t offset, uint64_t line) {
    if (!blocks_.empty() && offset - blocks_.back().offset < block_bytes_) return;
    if (lines_.empty() && line != record)
      for (const RecordBlock& block : blocks_) lines_.push_back(block.record);
    if (line != record || !lines_.empty()) lines_.push_back(line);
    blocks_.push_back({record, offset});
  }
  // The blocks of an index that is not finished, behind `records` records and `lines` lines.
  void append(const RecordIndex& piece, uint64_t records, uint64_t lines) {
    for (size_t block = 0; block < piece.blocks_.size(); ++block)
      add(records + piece.blocks_[block].record, piece.blocks_[block].offset,
          lines + piece.first_line(block));
  }
  // Where the next block begins, at the first record from there on.
  uint64_t next_block() const { return blocks_.empty() ? 0 : blocks_.back().offset + block_bytes_; }
  void finish(uint64_t records, uint64_t size) {
    if (blocks_.size() > 1 && blocks_.back().offset == size) blocks_.pop_back();  // an empty one
    blocks_.push_back({records, size});
  }

  uint64_t records() const { return blocks_.back().record; }
  size_t blocks() const { return blocks_.size() - 1; }
  size_t block_of(uint64_t record) const {
    auto after = std::upper_bound(
        blocks_.begin(), blocks_.end(), record,
        [](uint64_t value, const RecordBlock& block) { return value < block.record; });
    return size_t(after - blocks_.begin()) - 1;
  }
  uint64_t first_record(size_t block) const { return blocks_[block].record; }
  uint64_t first_line(size_t block) const {
    return lines_.empty() ? blocks_[block].record : lines_[block];
  }
  uint64_t bytes(size_t block) const { return blocks_[block + 1].offset - blocks_[block].offset; }
  // The bytes of a block, or of [begin, end), into memory that is used again. From any thread.
  void read(FileReader& file, size_t block, std::string& bytes) const {
    read(file, block, block + 1, bytes);
  }
  void read(FileReader& file, size_t begin, size_t end, std::string& bytes) const {
    bytes.resize(size_t(blocks_[end].offset - blocks_[begin].offset));
    file.read_exactly(blocks_[begin].offset, std::as_writable_bytes(std::span(bytes)));
  }
  // Behind the blocks that hold `count` records from `record` of `block` on, of at most `bytes`; one at
  // least.
  size_t end_of_run(size_t block, uint64_t record, uint64_t count, uint64_t bytes) const {
    size_t end = block + 1;
    while (end < blocks() && blocks_[end].record < record + count &&
           blocks_[end + 1].offset - blocks_[block].offset <= bytes)
      ++end;
    return end;
  }

 private:
  uint64_t block_bytes_;
  std::vector<RecordBlock> blocks_;  // the last one is the end of the file
  std::vector<uint64_t> lines_;      // of blocks; empty: the records are lines
};

}  // namespace stoker
